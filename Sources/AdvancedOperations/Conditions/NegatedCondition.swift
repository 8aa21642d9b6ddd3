public import CoreOperations

/// Holds when another condition fails, and fails with ``Held`` when that holds.
///
/// A condition that skips the operation still does: that there is nothing to do has no opposite.
///
/// ```swift
/// operation.addCondition(NegatedCondition(BlockCondition("maintenance") { await status.isDown }))
/// ```
public struct NegatedCondition: OperationCondition {
  /// The condition that should have failed holds.
  public struct Held: Error, Hashable, CustomStringConvertible {
    /// The name of the condition that holds.
    public var condition: String

    package init(condition: String) { self.condition = condition }

    /// One sentence with the condition.
    public var description: String { "“\(condition)” holds, and must not." }
  }

  let parts: ConditionParts

  /// Creates the opposite of a condition.
  public init(_ condition: any OperationCondition) { parts = ConditionParts(.not, [condition]) }

  /// The name of the condition with “not” before it; the end of a very long one is left out.
  public var name: String { parts.name }

  /// The prerequisite of the condition.
  public func dependency(for operation: AdvancedOperation) -> Operation? {
    parts.dependency(for: operation)
  }

  /// The opposite of the condition's answer, if that is known without waiting.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    parts.immediateResult(for: operation)
  }

  /// Evaluates the condition, and gives the opposite.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await parts.evaluate(for: operation)
  }
}

extension NegatedCondition: CompoundCondition {}
