/// Another condition, without its helper: it is asked as things are.
///
/// ```swift
/// // Not worth asking the user for, but welcome if it was given before:
/// operation.addCondition(SilentCondition(LocationPermission()))
/// ```
public struct SilentCondition: OperationCondition {
  let parts: ConditionParts

  /// Creates a condition that brings no helper.
  public init(_ condition: any OperationCondition) { parts = ConditionParts(.silent, [condition]) }

  /// The name of the condition.
  public var name: String { parts.name }

  /// That of the condition.
  public func verdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    parts.answer { $0.verdict(for: operation) }
  }

  /// What the condition answers.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await parts.evaluate(for: operation)
  }
}

extension SilentCondition: CompoundCondition {}
