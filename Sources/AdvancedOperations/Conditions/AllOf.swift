public import CoreOperations

/// Holds when all of several conditions do: evaluates them in order, up to the first that doesn't
/// hold.
///
/// The result is that of the first condition that fails or skips the operation; conditions behind
/// it aren't evaluated. Prerequisites of all conditions run before the first is evaluated. Without
/// any condition it holds.
///
/// Conditions may be in each other on up to 500 levels; a chain of `&&` is one level.
///
/// ```swift
/// operation.addCondition(online && !maintenance)
/// ```
public struct AllOf: OperationCondition {
  let parts: ConditionParts

  /// Creates a condition that holds when all others do.
  public init(_ conditions: [any OperationCondition]) { parts = ConditionParts(.all, conditions) }

  fileprivate init(parts: ConditionParts) { self.parts = parts }

  /// The names of the conditions, with “and” between them; the end of a very long one is left out.
  public var name: String { parts.name }

  /// The prerequisites of the conditions, as a group when there are several.
  public func dependency(for operation: AdvancedOperation) -> Operation? {
    parts.dependency(for: operation)
  }

  /// Known when no condition has to be waited for before the first that doesn't hold.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    parts.immediateResult(for: operation)
  }

  /// Evaluates the conditions in order, up to the first that doesn't hold.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await parts.evaluate(for: operation)
  }
}

/// Holds when both conditions do; the second is evaluated only if the first holds.
public func && (a: any OperationCondition, b: any OperationCondition) -> AllOf {
  AllOf(parts: ConditionParts(.all, joining: a, b))
}

/// The opposite of a condition.
public prefix func ! (a: any OperationCondition) -> NegatedCondition { NegatedCondition(a) }

extension AllOf: CompoundCondition {}
