/// Holds when another condition fails; what is skipped stays skipped.
///
/// ```swift
/// operation.addCondition(NegatedCondition(BlockCondition("maintenance") { await status.isDown }))
/// ```
public struct NegatedCondition: OperationCondition {
  /// The condition that should have failed holds.
  public struct Held: Error, Hashable, CustomStringConvertible {
    /// The name of the condition that holds.
    public var condition: String
    /// Creates the error.
    public init(condition: String) { self.condition = condition }
    /// One sentence with the condition.
    public var description: String { "“\(condition)” holds, and must not." }
  }

  let condition: any OperationCondition

  /// Creates the opposite of a condition.
  public init(_ condition: any OperationCondition) { self.condition = condition }

  /// The name of the condition with “not” before it.
  public var name: String { "not \(condition.nameAsPart)" }

  /// That of the condition.
  public func dependency(for operation: AdvancedOperation) -> AdvancedOperation? {
    condition.dependency(for: operation)
  }

  /// The opposite of the condition's, if that is known.
  public func verdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    condition.verdict(for: operation).map(negated)
  }

  /// The opposite of what the condition answers.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    negated(await condition.evaluate(for: operation))
  }

  func negated(_ result: OperationConditionResult) -> OperationConditionResult {
    switch result {
    case .satisfied: .failed(Held(condition: condition.name))
    case .failed: .satisfied
    case .skipped: result
    }
  }
}

extension NegatedCondition: CompoundCondition {
  var parts: [any OperationCondition] { [condition] }
}
