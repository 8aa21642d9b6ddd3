import CoreOperations

/// A condition that is made of others: ``AllOf``, ``AnyOf``, ``NegatedCondition`` or
/// ``SilentCondition``.
protocol CompoundCondition: EarlyCondition {
  var parts: ConditionParts { get }
}

/// The parts of a ``CompoundCondition``, and what they are combined to.
///
/// Evaluates its parts by recursion. ``maximumDepth`` keeps that within the stack of any thread.
final class ConditionParts: Sendable {
  /// How the answers of the parts are combined.
  enum Kind {
    case all, any, not, silent
  }

  /// The answers of leaves, which are the parts that aren't compound, by their numbers.
  typealias Answers = [Int: OperationConditionResult]

  /// The number of levels that conditions may be in each other.
  ///
  /// A level takes less than half a KiB of stack in a debug build, and some threads have 512 KiB.
  static let maximumDepth = 500

  let kind: Kind
  let conditions: [any OperationCondition]
  /// Whether a part of it is an ``ImmediateCondition``.
  let hasImmediatePart: Bool
  /// Whether no part has to be waited for.
  let isImmediate: Bool
  /// Whether some parts are immediate, and others have to be waited for and keep their answers.
  var isMixed: Bool { hasImmediatePart && !isImmediate }
  /// Whether it, or a part of it, may know its answer early.
  let mayBeEarly: Bool
  /// The circuit breakers of all parts.
  let breakers: [CircuitBreaker]
  fileprivate let leafCount: Int
  private let depth: Int

  init(_ kind: Kind, _ conditions: [any OperationCondition]) {
    self.kind = kind
    self.conditions = conditions
    hasImmediatePart = conditions.contains(where: \.hasImmediatePart)
    isImmediate = conditions.allSatisfy(\.isImmediate)
    mayBeEarly = conditions.contains(where: \.mayBeEarly)
    breakers = conditions.flatMap(\.breakers)
    leafCount = conditions.reduce(0) { $0 + $1.leafCount }
    depth = 1 + (conditions.map { $0.compoundParts?.depth ?? 0 }.max() ?? 0)
    if depth > Self.maximumDepth {
      trap(
        """
        A condition was put into another one \(Self.maximumDepth) times over, which is the most. \
        Join conditions of one kind on one level: AllOf and AnyOf take lists, and a chain of && \
        or of || is one level.
        """
      )
    }
  }

  /// Joins two conditions, or the parts of those that are of the same kind already.
  ///
  /// Doesn't look at the parts: a loop may join thousands of conditions one by one, and a cast of
  /// each part costs more than all else.
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
    leafCount = first.leafCount + second.leafCount
    depth = max(first.depth, second.depth)
  }
}

// MARK: Evaluating

extension ConditionParts {
  /// The answer of a part, or of all parts together.
  fileprivate enum Answer {
    case known(OperationConditionResult)
    /// The parts that were evaluated again don't decide, and this one has no answer.
    case unknown(any OperationCondition)

    var result: OperationConditionResult {
      switch self {
      case .known(let result): result
      case .unknown(let condition): .failed(NotEvaluated(condition: condition.name))
      }
    }
  }

  /// The answers of the parts of one level so far: which part decides, and what all come to.
  private struct Combination {
    let kind: Kind
    private var failures: [OperationConditionError] = []
    private var skipReason: String?
    private var unknown: (any OperationCondition)?

    init(_ kind: Kind) { self.kind = kind }

    /// A part has answered.
    ///
    /// - Returns: The answer of the whole; nil if the next part has to be evaluated.
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

    /// The answer when no part has decided.
    var outcome: Answer {
      if let unknown { return .unknown(unknown) }
      switch kind {
      case .all, .silent, .not: return .known(.satisfied)
      case .any:
        if let skipReason, failures.isEmpty { return .known(.skipped(reason: skipReason)) }
        return .known(.failed(AnyOf.NoneHolds(failures: failures)))
      }
    }

    /// The error with the name of the innermost part that decided.
    private static func named(
      _ error: any Error,
      by part: any OperationCondition
    ) -> OperationConditionError {
      error as? OperationConditionError
        ?? OperationConditionError(condition: part.name, underlying: error)
    }
  }

  /// A part that isn't made of others, at its place in the outermost condition.
  private struct Leaf {
    let condition: any OperationCondition
    let number: Int
    /// Whether the whole is satisfied only if this part isn't.
    let isNegated: Bool
  }

  /// Evaluates the parts in their order, up to the first that decides.
  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    var kept: Answers? = isMixed ? [:] : nil
    let answer = await evaluate(for: operation, firstLeaf: 0, &kept)
    if let kept { operation.keep(kept, of: self) }
    return answer.result
  }

  private func evaluate(
    for operation: AdvancedOperation,
    firstLeaf: Int,
    _ kept: inout Answers?
  ) async -> Answer {
    var combination = Combination(kind)
    var number = firstLeaf
    for condition in conditions {
      let answer: Answer
      if let parts = condition.compoundParts {
        answer = await parts.evaluate(for: operation, firstLeaf: number, &kept)
      } else {
        // No task is switched to if the answer is known.
        let result =
          if let verdict = condition.immediateResult(for: operation) {
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

  /// The answer if no part has to be waited for; nil if `ask` returns nil for one.
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

  /// The answer, if it is known without waiting.
  func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    var kept: Answers? = isMixed ? [:] : nil
    let answer = answer { leaf in
      let result = leaf.condition.immediateResult(for: operation)
      kept?[leaf.number] = result
      return result.map { .known($0) }
    }
    guard let answer else { return nil }
    if let kept { operation.keep(kept, of: self) }
    return answer.result
  }

  /// The answer, if it is known while the operation still waits for dependencies.
  fileprivate func earlyVerdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    answer { leaf in leaf.condition.earlyAnswer(for: operation).map { .known($0) } }?.result
  }

  /// The answer at the start of the operation, for parts of which some are immediate.
  ///
  /// Parts that would have to be waited for keep the answers that they gave before.
  ///
  /// - Parameters:
  ///   - operation: The operation that the condition is attached to.
  ///   - starts: Whether the operation starts if this is satisfied, and so becomes the probe of a
  ///     circuit on whose being closed that depends.
  /// - Returns: The answer.
  func review(
    for operation: AdvancedOperation,
    starts: Bool = false
  ) -> OperationConditionResult {
    let kept = operation.keptAnswers(of: self)
    let answer = answer { leaf in
      if starts, !leaf.isNegated, let closed = leaf.condition as? CircuitClosed {
        return .known(closed.admit(operation))
      }
      let result = leaf.condition.immediateResult(for: operation) ?? kept[leaf.number]
      return result.map { .known($0) } ?? .unknown(leaf.condition)
    }
    guard let answer else { trap("a review got no answer from a part of a condition") }
    return answer.result
  }
}

/// A part of a condition was not evaluated before the start, because another part had decided.
///
/// At the start, that other part decided otherwise.
struct NotEvaluated: Error, CustomStringConvertible {
  let condition: String

  var description: String {
    "“\(condition)” wasn't evaluated before the start, and what held then holds no more."
  }
}

extension CompoundCondition {
  func earlyVerdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    parts.earlyVerdict(for: operation)
  }
}

extension AdvancedOperation {
  /// Keeps the answers for the evaluation at the start.
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
  /// The names of all parts; the end of a very long name is left out.
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

  /// The prerequisites of all conditions, each once.
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

  /// The prerequisites of all conditions, as a group when there are several: for conditions of a
  /// program that ask others for their prerequisites.
  func dependency(for operation: AdvancedOperation) -> Operation? {
    let prerequisites = self.prerequisites(for: operation)
    if prerequisites.count <= 1 { return prerequisites.first }
    // Nothing can wait for one that another group is going to run; the operation says so.
    if let child = prerequisites.first(where: { $0.waitingGroup != nil }) { return child }
    let own = prerequisites.filter { $0.claimAsPrerequisite() }
    let group = GroupOperation(name: "prerequisites of \(operation.label)") { own }
    // Those that are run elsewhere are only waited for.
    for prerequisite in prerequisites where !own.contains(prerequisite) {
      group.addDependency(prerequisite)
    }
    return group
  }
}

extension OperationCondition {
  /// The parts of a condition that is made of others; nil for all other conditions.
  var compoundParts: ConditionParts? {
    // Types are compared first, because a cast costs more than all else about attaching a
    // condition.
    let isCompound =
      Self.self == AllOf.self || Self.self == AnyOf.self || Self.self == NegatedCondition.self
      || Self.self == SilentCondition.self
    return isCompound ? (self as? any CompoundCondition)?.parts : nil
  }

  fileprivate var leafCount: Int { compoundParts?.leafCount ?? 1 }

  /// Whether nothing of it has to be waited for.
  fileprivate var isImmediate: Bool {
    compoundParts?.isImmediate ?? (self is any ImmediateCondition)
  }

  /// Whether it, or a part of it, is an ``ImmediateCondition``, which is evaluated again at the
  /// start.
  var hasImmediatePart: Bool {
    compoundParts?.hasImmediatePart ?? (self is any ImmediateCondition)
  }

  /// The circuit breakers that watch an operation to which this is attached.
  var breakers: [CircuitBreaker] {
    if Self.self == CircuitClosed.self, let closed = self as? CircuitClosed {
      return [closed.breaker]
    }
    return compoundParts?.breakers ?? []
  }

  /// What has to run before the condition, or its parts, are evaluated.
  func prerequisites(for operation: AdvancedOperation) -> [Operation] {
    if let compoundParts { return compoundParts.prerequisites(for: operation) }
    // Not `map`, which looks up the type of the optional each time, by 450 instructions
    // (callgrind).
    return if let prerequisite = dependency(for: operation) { [prerequisite] } else { [] }
  }
}
