public import CoreOperations

/// A condition that is satisfied if all of several conditions are satisfied.
///
/// The conditions are evaluated in order, up to the first one that isn't satisfied. `AllOf` then has the
/// answer of that condition. The prerequisites of all conditions run before the first condition is evaluated.
/// `AllOf` without conditions is satisfied.
///
/// Conditions can be nested on up to 500 levels. A chain of `&&` is one level.
///
/// ```swift
/// operation.addCondition(online && !maintenance)
/// ```
public struct AllOf: OperationCondition {
  let parts: ConditionParts

  /// Creates a condition that is satisfied if all the given conditions are satisfied.
  public init(_ conditions: [any OperationCondition]) { parts = ConditionParts(.all, conditions) }

  fileprivate init(parts: ConditionParts) { self.parts = parts }

  /// The names of the conditions, joined by “and”; the end of a very long name is left out.
  public var name: String { parts.name }

  /// Returns the prerequisite of the conditions; a group of prerequisites if several conditions have one.
  public func dependency(for operation: AdvancedOperation) -> Operation? {
    parts.dependency(for: operation)
  }

  /// Returns the answer, or nil if an asynchronous condition has to be evaluated first.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    parts.immediateResult(for: operation)
  }

  /// Evaluates the conditions in order, up to the first one that isn't satisfied.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await parts.evaluate(for: operation)
  }
}

/// Returns a condition that is satisfied if both conditions are satisfied.
///
/// The second condition is evaluated only if the first condition is satisfied.
public func && (a: any OperationCondition, b: any OperationCondition) -> AllOf {
  AllOf(parts: ConditionParts(.all, joining: a, b))
}

/// Returns the opposite of a condition.
public prefix func ! (a: any OperationCondition) -> NegatedCondition { NegatedCondition(a) }

extension AllOf: CompoundCondition {}
