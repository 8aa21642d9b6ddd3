import CoreOperations

/// A condition that is made of others.
///
/// Conditions may be in each other as deep as a program likes: they are evaluated, named and
/// released without recursion.
protocol CompoundCondition: EarlyCondition {
  var parts: ConditionParts { get }
}

/// What a ``CompoundCondition`` is made of.
final class ConditionParts: @unchecked Sendable {
  // Sendable: changed only while it dies.

  /// What the answers of the parts come to.
  enum Kind {
    case all, any, not, silent
  }

  let kind: Kind
  private(set) var conditions: [any OperationCondition]
  /// Whether a part of it is an ``ImmediateCondition``.
  let hasImmediatePart: Bool
  /// Whether no part has to be waited for.
  let isImmediate: Bool
  /// Whether some parts are immediate, and others have to be waited for and keep their answers.
  var isMixed: Bool { hasImmediatePart && !isImmediate }
  /// The number of leaves in front of each condition.
  let leavesInFront: [Int]
  private let leafCount: Int
  /// Whether it, or a part of it, may know its answer early.
  let mayBeEarly: Bool
  /// Those of all its parts.
  let breakers: [CircuitBreaker]

  /// Whether a part is made of others.
  private let hasCompoundPart: Bool

  init(_ kind: Kind, _ conditions: [any OperationCondition]) {
    self.kind = kind
    self.conditions = conditions
    hasImmediatePart = conditions.contains(where: \.hasImmediatePart)
    isImmediate = conditions.allSatisfy(\.isImmediate)
    mayBeEarly = conditions.contains(where: \.mayBeEarly)
    hasCompoundPart = conditions.contains { $0 is any CompoundCondition }
    breakers = conditions.flatMap(\.breakers)
    var leavesInFront: [Int] = []
    var leafCount = 0
    for condition in conditions {
      leavesInFront.append(leafCount)
      leafCount += (condition as? any CompoundCondition)?.parts.leafCount ?? 1
    }
    (self.leavesInFront, self.leafCount) = (leavesInFront, leafCount)
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
      if let parts = (condition as? any CompoundCondition)?.parts, parts.kind == kind {
        return parts
      }
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
    hasCompoundPart = first.hasCompoundPart || second.hasCompoundPart
    breakers = first.breakers + second.breakers
    leavesInFront = first.leavesInFront + second.leavesInFront.map { first.leafCount + $0 }
    leafCount = first.leafCount + second.leafCount
  }

  deinit {
    // What is made of nothing but leaves needs no list to be released.
    guard hasCompoundPart else { return }
    FlatRelease.release(exchange(&conditions, with: []))
  }
}

extension CompoundCondition {
  func earlyVerdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    parts.run { ($0 as? any EarlyCondition)?.earlyVerdict(for: operation) }?.result
  }
}

extension ConditionParts {
  /// In words; the end of a very long name is left out.
  var name: String { ConditionName.of(self) }

  /// What the conditions come to, each asked in its turn until one decides.
  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    var run = CompoundRun(self)
    while let condition = run.next() {
      // Without a task switch if it is known.
      if let verdict = condition.verdict(for: operation) {
        run.answered(verdict)
      } else {
        run.answered(await condition.evaluate(for: operation))
      }
    }
    if isMixed { operation.keep(run.answers, of: self) }
    return run.result
  }

  /// The answer, if it is known without waiting.
  func verdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    guard let run = run({ $0.verdict(for: operation) }) else { return nil }
    if isMixed { operation.keep(run.answers, of: self) }
    return run.result
  }

  /// A run to the end; nil if an answer would have to be waited for.
  fileprivate func run(
    _ ask: (any OperationCondition) -> OperationConditionResult?
  ) -> CompoundRun? {
    var run = CompoundRun(self)
    while let condition = run.next() {
      guard let result = ask(condition) else { return nil }
      run.answered(result)
    }
    return run
  }

  /// The answer of an operation that has waited since the parts were evaluated, some of which are
  /// immediate.
  ///
  /// Parts that would have to be waited for keep the answers that they gave before the wait.
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
    var run = CompoundRun(self)
    while let condition = run.next() {
      if starts, !run.isNegated, let closed = condition as? CircuitClosed {
        run.answered(closed.admit(operation))
      } else if let result = condition.verdict(for: operation) ?? kept[run.leaf] {
        run.answered(result)
      } else {
        run.hasNoAnswer(condition)
      }
    }
    return run.result
  }

  /// The helpers of all conditions, each once.
  func helpers(for operation: AdvancedOperation) -> [Operation] {
    if kind == .silent { return [] }
    var helpers: [Operation] = []
    for condition in helped {
      guard let helper = condition.dependency(for: operation), !helpers.contains(helper) else {
        continue
      }
      helpers.append(helper)
    }
    return helpers
  }

  /// The helpers of all conditions, as a group when there are several: for conditions of a program
  /// that ask others for their helpers.
  func dependency(for operation: AdvancedOperation) -> Operation? {
    let helpers = helpers(for: operation)
    if helpers.count <= 1 { return helpers.first }
    // Nothing can wait for one that another group is going to run; the operation says so.
    if let child = helpers.first(where: { $0.waitingGroup != nil }) { return child }
    let own = helpers.filter { $0.claimAsHelper() }
    let group = GroupOperation(name: "helpers of \(operation.label)") { own }
    // Those that are run elsewhere are only waited for.
    for helper in helpers where !own.contains(helper) { group.addDependency(helper) }
    return group
  }

  /// The conditions that may bring helpers and aren't made of others, in order.
  private var helped: [any OperationCondition] {
    var helped: [any OperationCondition] = []
    var due: [any OperationCondition] = conditions.reversed()
    while let condition = due.popLast() {
      if let parts = (condition as? any CompoundCondition)?.parts {
        if parts.kind != .silent { due += parts.conditions.reversed() }
      } else {
        helped.append(condition)
      }
    }
    return helped
  }
}

extension AdvancedOperation {
  /// Keeps the answers for a review after a wait.
  fileprivate final func keep(_ answers: CompoundRun.Answers, of parts: ConditionParts) {
    let old = withCore {
      $0.makeExtra().keptAnswers.updateValue(answers, forKey: ObjectIdentifier(parts))
    }
    withExtendedLifetime(old) {}
  }

  fileprivate final func keptAnswers(of parts: ConditionParts) -> CompoundRun.Answers {
    withCore { $0.extra?.keptAnswers[ObjectIdentifier(parts)] } ?? [:]
  }
}

extension OperationCondition {
  /// Whether nothing of it has to be waited for.
  fileprivate var isImmediate: Bool {
    self is any ImmediateCondition
      || (self as? any CompoundCondition)?.parts.isImmediate ?? false
  }

  /// Whether it, or a part of it, is an ``ImmediateCondition``, which is evaluated again after a
  /// wait.
  var hasImmediatePart: Bool {
    self is any ImmediateCondition
      || (self as? any CompoundCondition)?.parts.hasImmediatePart ?? false
  }
}

extension OperationCondition {
  /// The circuit breakers that watch an operation to which this is attached.
  var breakers: [CircuitBreaker] {
    // Types are compared first, because a cast costs more than all else about attaching a
    // condition.
    if Self.self == CircuitClosed.self, let closed = self as? CircuitClosed {
      return [closed.breaker]
    }
    return isCompound ? (self as? any CompoundCondition)?.parts.breakers ?? [] : []
  }

  private var isCompound: Bool {
    Self.self == AllOf.self || Self.self == AnyOf.self || Self.self == NegatedCondition.self
      || Self.self == SilentCondition.self
  }

  /// What has to run before the condition, or its parts, are evaluated.
  func helpers(for operation: AdvancedOperation) -> [Operation] {
    if isCompound, let parts = (self as? any CompoundCondition)?.parts {
      return parts.helpers(for: operation)
    }
    return dependency(for: operation).map { [$0] } ?? []
  }
}
