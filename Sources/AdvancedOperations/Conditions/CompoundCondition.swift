import CoreOperations

/// A condition that consists of other conditions: ``AllOf``, ``AnyOf``, ``NegatedCondition`` or
/// ``SilentCondition``.
protocol CompoundCondition: EarlyCondition {
  var parts: ConditionParts { get }
}

/// The parts of a ``CompoundCondition``, and the kind of their combination.
///
/// Parts are evaluated by recursion. ``maximumDepth`` limits the recursion to the stack of the smallest
/// thread.
final class ConditionParts: Sendable {
  /// A kind of combining the answers of the parts.
  enum Kind {
    case all, any, not, silent
  }

  /// The answers of leaves by their numbers.
  ///
  /// A *leaf* is a part that isn't compound.
  typealias Answers = [Int: OperationConditionResult]

  /// The maximum number of levels on which conditions can be nested.
  ///
  /// A level takes less than half a KiB of stack in a debug build. Some threads have only 512 KiB.
  static let maximumDepth = 500

  let kind: Kind
  let conditions: [any OperationCondition]
  /// A Boolean value that indicates whether a part is an ``ImmediateCondition``.
  let hasImmediatePart: Bool
  /// A Boolean value that indicates whether no part has to be waited for.
  let isImmediate: Bool
  /// A Boolean value that indicates whether some parts are immediate and other parts, which have to be waited
  /// for, keep their answers.
  var isMixed: Bool { hasImmediatePart && !isImmediate }
  /// A Boolean value that indicates whether the condition, or a part of it, may know its answer early.
  let mayBeEarly: Bool
  /// The circuit breakers of all parts.
  let breakers: [CircuitBreaker]
  /// The parts that wait for changes instead of failing.
  let patients: [any PatientCondition]
  fileprivate let leafCount: Int
  private let depth: Int

  init(_ kind: Kind, _ conditions: [any OperationCondition]) {
    self.kind = kind
    self.conditions = conditions
    hasImmediatePart = conditions.contains(where: \.hasImmediatePart)
    isImmediate = conditions.allSatisfy(\.isImmediate)
    mayBeEarly = conditions.contains(where: \.mayBeEarly)
    breakers = conditions.flatMap(\.breakers)
    patients = conditions.flatMap(\.patients)
    leafCount = conditions.reduce(0) { $0 + $1.leafCount }
    depth = 1 + (conditions.map { $0.compoundParts?.depth ?? 0 }.max() ?? 0)
    if depth > Self.maximumDepth {
      trap(
        """
        Conditions are nested on more than \(Self.maximumDepth) levels. Join conditions of one kind \
        on one level: AllOf and AnyOf take lists, and a chain of && or of || is one level.
        """
      )
    }
  }

  /// Joins two conditions; for a condition that is of the kind already, its parts are joined instead.
  ///
  /// The initializer doesn't examine the parts. A loop may join thousands of conditions one by one, and a
  /// cast of each part would dominate the cost.
  convenience init(
    _ kind: Kind,
    joining first: any OperationCondition,
    _ second: any OperationCondition
  ) {
    func parts(of condition: any OperationCondition) -> ConditionParts {
      if let parts = condition.compoundParts, parts.kind == kind { return parts }
      return ConditionParts(kind, [condition])
    }
    self.init(joining: parts(of: first), parts(of: second))
  }

  private init(joining first: ConditionParts, _ second: ConditionParts) {
    kind = first.kind
    conditions = first.conditions + second.conditions
    hasImmediatePart = first.hasImmediatePart || second.hasImmediatePart
    isImmediate = first.isImmediate && second.isImmediate
    mayBeEarly = first.mayBeEarly || second.mayBeEarly
    breakers = first.breakers + second.breakers
    patients = first.patients + second.patients
    leafCount = first.leafCount + second.leafCount
    depth = max(first.depth, second.depth)
  }
}

// MARK: Evaluating

extension ConditionParts {
  /// The answer of a part, or of all parts together.
  fileprivate enum Answer {
    case known(OperationConditionResult)
    /// The parts that were evaluated again don't decide, and this condition has no answer.
    case unknown(any OperationCondition)

    var result: OperationConditionResult {
      switch self {
      case .known(let result): result
      case .unknown(let condition): .failed(NotEvaluated(condition: condition.name))
      }
    }
  }

  /// The answers of the parts of one level, which results in the answer of the level.
  private struct Combination {
    let kind: Kind
    private var failures: [OperationConditionError] = []
    private var skipReason: String?
    private var unknown: (any OperationCondition)?

    init(_ kind: Kind) { self.kind = kind }

    /// Adds the answer of a part.
    ///
    /// - Returns: The answer of the level; nil if the next part has to be evaluated.
    mutating func answered(_ answer: Answer, by part: any OperationCondition) -> Answer? {
      switch (kind, answer) {
      case (.silent, _), (.not, .unknown), (.not, .known(.skipped)), (.all, .known(.skipped)),
        (.any, .known(.satisfied)):
        return answer
      case (.not, .known(.satisfied)):
        return .known(.failed(NegatedCondition.Held(condition: part.name)))
      case (.not, .known(.failed)): return .known(.satisfied)
      case (.all, .known(.satisfied)): return nil
      case (.all, .known(.failed(let error))):
        return .known(.failed(Self.named(error, by: part)))
      case (.any, .known(.skipped(let reason))): skipReason = skipReason ?? reason
      case (.any, .known(.failed(let error))): failures.append(Self.named(error, by: part))
      case (.all, .unknown(let leaf)), (.any, .unknown(let leaf)): unknown = leaf
      }
      return nil
    }

    /// The answer of the level if no part has decided.
    var outcome: Answer {
      if let unknown { return .unknown(unknown) }
      switch kind {
      case .all, .silent, .not: return .known(.satisfied)
      case .any:
        if let skipReason, failures.isEmpty { return .known(.skipped(reason: skipReason)) }
        return .known(.failed(AnyOf.NoneHolds(failures: failures)))
      }
    }

    /// Returns the error with the name of the innermost part that decided.
    private static func named(
      _ error: any Error,
      by part: any OperationCondition
    ) -> OperationConditionError {
      error as? OperationConditionError
        ?? OperationConditionError(condition: part.name, underlying: error)
    }
  }

  /// A part that isn't compound, at its place in the outermost condition.
  private struct Leaf {
    let condition: any OperationCondition
    let number: Int
    /// A Boolean value that indicates whether the outermost condition requires that this part isn't
    /// satisfied.
    let isNegated: Bool

    /// Returns the answer if it is known without waiting; a negated part doesn't wait.
    func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
      isNegated
        ? condition.resultIfNegated(for: operation) : condition.immediateResult(for: operation)
    }
  }

  /// Evaluates the parts in their order, up to the first that decides.
  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    var kept: Answers? = isMixed ? [:] : nil
    let answer = await evaluate(for: operation, firstLeaf: 0, isNegated: false, &kept)
    if let kept { operation.keep(kept, of: self) }
    return answer.result
  }

  private func evaluate(
    for operation: AdvancedOperation,
    firstLeaf: Int,
    isNegated: Bool,
    _ kept: inout Answers?
  ) async -> Answer {
    var combination = Combination(kind)
    var number = firstLeaf
    let isNegated = isNegated != (kind == .not)
    for condition in conditions {
      let answer: Answer
      if let parts = condition.compoundParts {
        answer = await parts.evaluate(
          for: operation,
          firstLeaf: number,
          isNegated: isNegated,
          &kept
        )
      } else {
        // An answer that is known immediately saves a switch of tasks.
        let result =
          if let verdict = Leaf(condition: condition, number: number, isNegated: isNegated)
            .immediateResult(for: operation)
          {
            verdict
          } else {
            await condition.evaluate(for: operation)
          }
        kept?[number] = result
        answer = .known(result)
      }
      if let decided = combination.answered(answer, by: condition) { return decided }
      number += condition.leafCount
    }
    return combination.outcome
  }

  /// Returns the answer if no part has to be waited for; nil if `ask` returns nil for a part that is needed.
  private func answer(
    firstLeaf: Int = 0,
    isNegated: Bool = false,
    _ ask: (Leaf) -> Answer?
  ) -> Answer? {
    var combination = Combination(kind)
    var number = firstLeaf
    let isNegated = isNegated != (kind == .not)
    for condition in conditions {
      let answer =
        if let parts = condition.compoundParts {
          parts.answer(firstLeaf: number, isNegated: isNegated, ask)
        } else {
          ask(Leaf(condition: condition, number: number, isNegated: isNegated))
        }
      guard let answer else { return nil }
      if let decided = combination.answered(answer, by: condition) { return decided }
      number += condition.leafCount
    }
    return combination.outcome
  }

  /// Returns the answer if it is known without waiting.
  func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    var kept: Answers? = isMixed ? [:] : nil
    let answer = answer { leaf in
      let result = leaf.immediateResult(for: operation)
      kept?[leaf.number] = result
      return result.map { .known($0) }
    }
    guard let answer else { return nil }
    if let kept { operation.keep(kept, of: self) }
    return answer.result
  }

  /// Returns the answer if it is known while the operation still waits for dependencies.
  fileprivate func earlyVerdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    answer { leaf in leaf.condition.earlyAnswer(for: operation).map { .known($0) } }?.result
  }

  /// Returns the answer at the start of the operation, for a condition with immediate and other parts.
  ///
  /// Parts that would have to be waited for keep their earlier answers.
  ///
  /// - Parameters:
  ///   - operation: The operation that the condition is attached to.
  ///   - starts: True if the operation starts when this condition is satisfied. The operation then becomes
  ///     the probe of a circuit that the condition requires to be closed.
  ///   - begin: The time at which the operation began to wait for changes; nil if no part waits.
  ///   - waits: The waits of parts that aren't satisfied, to which the method adds. These parts count as
  ///     satisfied.
  /// - Returns: The answer.
  func review(
    for operation: AdvancedOperation,
    starts: Bool,
    waitingSince begin: Duration?,
    _ waits: inout [ConditionWait]
  ) -> OperationConditionResult {
    let kept = operation.keptAnswers(of: self)
    let answer = answer { leaf in
      if starts, !leaf.isNegated, let closed = leaf.condition as? CircuitClosed, !closed.waits {
        return .known(closed.admit(operation))
      }
      let now =
        if let begin, !leaf.isNegated, let patient = leaf.condition.patient {
          patient.resultAtStart(
            of: operation,
            isStarting: starts,
            waitingSince: begin,
            &waits
          )
        } else {
          leaf.immediateResult(for: operation)
        }
      let result = now ?? kept[leaf.number]
      return result.map { .known($0) } ?? .unknown(leaf.condition)
    }
    guard let answer else { internalError("a review got no answer from a part of a condition") }
    return answer.result
  }
}

/// An error that reports that a part of a condition wasn't evaluated before the start, because another part
/// had decided.
///
/// The other part changed its answer at the start.
struct NotEvaluated: Error, CustomStringConvertible {
  let condition: String

  var description: String {
    "“\(condition)” wasn't evaluated before the start, and another part isn't satisfied any more."
  }
}

extension CompoundCondition {
  func earlyVerdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    parts.earlyVerdict(for: operation)
  }
}

extension AdvancedOperation {
  /// Keeps the answers of parts for the evaluation at the start.
  fileprivate final func keep(_ answers: ConditionParts.Answers, of parts: ConditionParts) {
    let old = withCore {
      $0.makeExtra().keptAnswers.updateValue(answers, forKey: ObjectIdentifier(parts))
    }
    withExtendedLifetime(old) {}
  }

  fileprivate final func keptAnswers(of parts: ConditionParts) -> ConditionParts.Answers {
    withCore { $0.extra?.keptAnswers[ObjectIdentifier(parts)] } ?? [:]
  }
}

// MARK: Names and prerequisites

extension ConditionParts {
  /// The name, which consists of the names of all parts; the end of a very long name is left out.
  var name: String {
    var name = ""
    var pieces = 50
    write(to: &name, atMost: &pieces)
    return name
  }

  private func write(to name: inout String, atMost pieces: inout Int) {
    func write(_ text: String) {
      pieces -= 1
      if pieces >= 0 { name += text }
      if pieces == -1 { name += "…" }
    }
    if kind == .not { write("not ") }
    if kind == .all && conditions.isEmpty { write("nothing") }
    if kind == .any && conditions.isEmpty { write("none of nothing") }
    for (index, condition) in conditions.enumerated() {
      if pieces < 0 { return }
      if index > 0 { write(kind == .all ? " and " : " or ") }
      guard let parts = condition.compoundParts else {
        write(condition.name)
        continue
      }
      let isInBrackets = kind != .silent && parts.conditions.count > 1
      if isInBrackets { write("(") }
      parts.write(to: &name, atMost: &pieces)
      if isInBrackets { write(")") }
    }
  }

  /// Returns the prerequisites of all parts, each once.
  func prerequisites(for operation: AdvancedOperation) -> [Operation] {
    var prerequisites: [Operation] = []
    addPrerequisites(to: &prerequisites, for: operation)
    return prerequisites
  }

  private func addPrerequisites(
    to prerequisites: inout [Operation],
    for operation: AdvancedOperation
  ) {
    if kind == .silent { return }
    for condition in conditions {
      if let parts = condition.compoundParts {
        parts.addPrerequisites(to: &prerequisites, for: operation)
      } else if let prerequisite = condition.dependency(for: operation),
        !prerequisites.contains(prerequisite)
      {
        prerequisites.append(prerequisite)
      }
    }
  }

  /// Returns the prerequisites of all parts, as a group if there are several.
  ///
  /// The group is for the program's own conditions that call `dependency(for:)` of other conditions.
  func dependency(for operation: AdvancedOperation) -> Operation? {
    let prerequisites = self.prerequisites(for: operation)
    if prerequisites.count <= 1 { return prerequisites.first }
    // A prerequisite that another group is going to run can't be waited for. The operation then fails with an
    // error that names the prerequisite.
    if let child = prerequisites.first(where: { $0.waitingGroup != nil }) { return child }
    let own = prerequisites.filter { $0.claimAsPrerequisite() }
    let group = GroupOperation(name: "prerequisites of \(operation.label)") { own }
    // The group only waits for prerequisites that another queue runs.
    for prerequisite in prerequisites where !own.contains(prerequisite) {
      group.addDependency(prerequisite)
    }
    return group
  }
}

extension OperationCondition {
  /// The parts of a compound condition; nil for all other conditions.
  var compoundParts: ConditionParts? {
    // Types are compared first, because a cast would dominate the cost of attaching a condition.
    let isCompound =
      Self.self == AllOf.self || Self.self == AnyOf.self || Self.self == NegatedCondition.self
      || Self.self == SilentCondition.self
    return isCompound ? (self as? any CompoundCondition)?.parts : nil
  }

  fileprivate var leafCount: Int { compoundParts?.leafCount ?? 1 }

  /// A Boolean value that indicates whether no part of the condition has to be waited for.
  fileprivate var isImmediate: Bool {
    compoundParts?.isImmediate ?? (self is any ImmediateCondition && patient == nil)
  }

  /// A Boolean value that indicates whether the condition, or a part of it, is an ``ImmediateCondition``,
  /// which is evaluated again at the start.
  var hasImmediatePart: Bool {
    compoundParts?.hasImmediatePart ?? (self is any ImmediateCondition || patient != nil)
  }

  /// Returns the answer of a condition in a negated condition, which doesn't wait.
  fileprivate func resultIfNegated(for operation: AdvancedOperation) -> OperationConditionResult? {
    if let patient { return patient.resultNow(for: operation) }
    return immediateResult(for: operation)
  }

  /// The circuit breakers that observe an operation to which this condition is attached.
  var breakers: [CircuitBreaker] {
    if Self.self == CircuitClosed.self, let closed = self as? CircuitClosed {
      return [closed.breaker]
    }
    return compoundParts?.breakers ?? []
  }

  /// Returns the operations that have to run before the condition, or its parts, are evaluated.
  func prerequisites(for operation: AdvancedOperation) -> [Operation] {
    if let compoundParts { return compoundParts.prerequisites(for: operation) }
    // `map` would look up the type of the optional each time, which takes 450 instructions (callgrind).
    return if let prerequisite = dependency(for: operation) { [prerequisite] } else { [] }
  }
}
