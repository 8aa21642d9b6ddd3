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
  /// Whether it, or a part of it, may know its answer early.
  let mayBeEarly: Bool
  /// Those of all its parts.
  let breakers: [CircuitBreaker]

  init(_ kind: Kind, _ conditions: [any OperationCondition]) {
    self.kind = kind
    self.conditions = conditions
    hasImmediatePart = conditions.contains(where: \.hasImmediatePart)
    mayBeEarly = conditions.contains(where: \.mayBeEarly)
    breakers = conditions.flatMap(\.breakers)
  }

  deinit {
    // What is made of nothing but leaves needs no list to be released.
    guard conditions.contains(where: { $0 is any CompoundCondition }) else { return }
    FlatRelease.release(exchange(&conditions, with: []))
  }
}

extension CompoundCondition {
  func earlyVerdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    parts.answer { ($0 as? any EarlyCondition)?.earlyVerdict(for: operation) }
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
    return run.result
  }

  /// The same with an answer that may not be there; nil if one would have to be waited for.
  func answer(
    _ ask: (any OperationCondition) -> OperationConditionResult?
  ) -> OperationConditionResult? {
    var run = CompoundRun(self)
    while let condition = run.next() {
      guard let result = ask(condition) else { return nil }
      run.answered(result)
    }
    return run.result
  }

  /// The helpers of all conditions, as a group when there are several.
  func dependency(for operation: AdvancedOperation) -> AdvancedOperation? {
    helped.combinedDependency(for: operation)
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

extension OperationCondition {
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
    let isCompound =
      Self.self == AllOf.self || Self.self == AnyOf.self || Self.self == NegatedCondition.self
      || Self.self == SilentCondition.self
    return isCompound ? (self as? any CompoundCondition)?.parts.breakers ?? [] : []
  }
}

extension [any OperationCondition] {
  fileprivate func combinedDependency(for operation: AdvancedOperation) -> AdvancedOperation? {
    var helpers: [AdvancedOperation] = []
    for helper in compactMap({ $0.dependency(for: operation) }) where !helpers.contains(helper) {
      helpers.append(helper)
    }
    if helpers.count <= 1 { return helpers.first }
    // Nothing can wait for one that another group is going to run; the operation says so.
    if let child = helpers.first(where: { $0.waitingGroup != nil }) { return child }
    let own = helpers.filter { $0.claimAsHelper() }
    let group = GroupOperation(name: "helpers of \(operation.label)") { own }
    // Those that are run elsewhere are only waited for.
    for helper in helpers where !own.contains(helper) { group.addDependency(helper) }
    return group
  }
}
