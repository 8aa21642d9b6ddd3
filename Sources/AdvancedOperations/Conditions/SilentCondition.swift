/// A condition that evaluates another condition without running its prerequisite first.
///
/// The method ``OperationCondition/dependency(for:)`` of the other condition, and of all its parts, isn't
/// called. In every other respect, both conditions behave in the same way.
///
/// ```swift
/// // Not worth asking the user for, but welcome if it was given before:
/// operation.addCondition(SilentCondition(LocationPermission()))
/// ```
public struct SilentCondition: OperationCondition {
  let parts: ConditionParts

  /// Creates a condition without a prerequisite from another condition.
  public init(_ condition: any OperationCondition) { parts = ConditionParts(.silent, [condition]) }

  /// The name of the condition.
  public var name: String { parts.name }

  /// Returns the answer of the condition if it is known without waiting.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    parts.immediateResult(for: operation)
  }

  /// Evaluates the condition.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await parts.evaluate(for: operation)
  }
}

extension SilentCondition: CompoundCondition {}
