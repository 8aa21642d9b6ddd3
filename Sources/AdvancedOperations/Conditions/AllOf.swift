/// Holds when all of several conditions do; asks them in order and stops at the first that doesn't.
///
/// Without any condition it holds.
///
/// ```swift
/// operation.addCondition(online && !maintenance)
/// ```
public struct AllOf: OperationCondition {
  let conditions: [any OperationCondition]

  /// Creates a condition that holds when all others do.
  public init(_ conditions: [any OperationCondition]) { self.conditions = conditions }

  /// The names of the conditions, with “and” between them.
  public var name: String { conditions.combinedName("and", empty: "nothing") }

  /// Those of the conditions, as a group when there are several.
  public func dependency(for operation: AdvancedOperation) -> AdvancedOperation? {
    conditions.combinedDependency(for: operation)
  }

  /// Known when no condition has to be waited for before the first that doesn't hold.
  public func verdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    verdict { $0.verdict(for: operation) }
  }

  func verdict(
    _ ask: (any OperationCondition) -> OperationConditionResult?
  ) -> OperationConditionResult? {
    for condition in conditions {
      guard let result = ask(condition) else { return nil }
      if !result.isSatisfied { return condition.named(result) }
    }
    return .satisfied
  }

  /// What the first condition answers that doesn't hold.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    for condition in conditions {
      let result = await condition.answer(for: operation)
      if !result.isSatisfied { return condition.named(result) }
    }
    return .satisfied
  }
}

/// Both; asked in order, and the second only if the first holds.
public func && (a: any OperationCondition, b: any OperationCondition) -> AllOf {
  AllOf(((a as? AllOf)?.conditions ?? [a]) + ((b as? AllOf)?.conditions ?? [b]))
}

/// The opposite of a condition.
public prefix func ! (a: any OperationCondition) -> NegatedCondition { NegatedCondition(a) }

extension AllOf: CompoundCondition {
  var parts: [any OperationCondition] { conditions }
}
