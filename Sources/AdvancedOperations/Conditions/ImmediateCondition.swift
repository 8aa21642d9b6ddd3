/// A condition that knows its answer without waiting; it costs no task.
///
/// Asked by a worker. When the operation then had to wait for a claim, asked again before it starts:
/// mostly once it has the claim and its slot, so that nobody who came later goes by meanwhile.
///
/// ```swift
/// struct OfficeHours: ImmediateCondition {
///   func check(_ operation: AdvancedOperation) -> OperationConditionResult {
///     isOpen() ? .satisfied : .skipped(reason: "the office is closed")
///   }
/// }
/// ```
public protocol ImmediateCondition: OperationCondition {
  /// The answer; called without a lock held. It must not block.
  ///
  /// It runs on a worker that other operations need: a blocking wait for an operation or a queue
  /// traps. A condition that has to wait is an ``OperationCondition`` whose `evaluate(for:)` awaits.
  ///
  /// - Parameter operation: The operation that the condition is attached to.
  /// - Returns: The answer.
  func check(_ operation: AdvancedOperation) -> OperationConditionResult
}

extension ImmediateCondition {
  /// What ``check(_:)`` answers.
  public func verdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    check(operation)
  }
  /// What ``check(_:)`` answers.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    check(operation)
  }
}
