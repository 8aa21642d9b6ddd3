public import CoreOperations

/// A condition that is satisfied if another condition fails.
///
/// If the other condition is satisfied, the negated condition fails with ``Held``. If the other condition
/// skips the operation, the negated condition skips it, too, because a skip has no opposite.
///
/// ```swift
/// operation.addCondition(NegatedCondition(BlockCondition("maintenance") { await status.isDown }))
/// ```
public struct NegatedCondition: OperationCondition {
  /// An error that reports that the condition is satisfied although it should have failed.
  public struct Held: Error, Hashable, CustomStringConvertible {
    /// The name of the condition that is satisfied.
    public var condition: String

    package init(condition: String) { self.condition = condition }

    /// A sentence with the name of the condition.
    public var description: String { "“\(condition)” is satisfied, but must not be." }
  }

  let parts: ConditionParts

  /// Creates the opposite of a condition.
  public init(_ condition: any OperationCondition) { parts = ConditionParts(.not, [condition]) }

  /// The name of the condition with “not” before it; the end of a very long name is left out.
  public var name: String { parts.name }

  /// Returns the prerequisite of the condition.
  public func dependency(for operation: AdvancedOperation) -> Operation? {
    parts.dependency(for: operation)
  }

  /// Returns the opposite of the condition's answer, or nil if the answer isn't known without waiting.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    parts.immediateResult(for: operation)
  }

  /// Evaluates the condition, and returns the opposite of its answer.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await parts.evaluate(for: operation)
  }
}

extension NegatedCondition: CompoundCondition {}
