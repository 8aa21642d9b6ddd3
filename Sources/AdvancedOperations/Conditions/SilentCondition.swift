/// Another condition, evaluated without running its prerequisite first.
///
/// ``OperationCondition/dependency(for:)`` of the condition, and of all its parts, isn't called.
/// Everything else is as with the condition itself.
///
/// ```swift
/// // Not worth asking the user for, but welcome if it was given before:
/// operation.addCondition(SilentCondition(LocationPermission()))
/// ```
public struct SilentCondition: OperationCondition {
  let parts: ConditionParts

  /// Creates a condition that brings no prerequisite.
  public init(_ condition: any OperationCondition) { parts = ConditionParts(.silent, [condition]) }

  /// The name of the condition.
  public var name: String { parts.name }

  /// The answer of the condition, if it is known without waiting.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    parts.immediateResult(for: operation)
  }

  /// Evaluates the condition.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await parts.evaluate(for: operation)
  }
}

extension SilentCondition: CompoundCondition {}
