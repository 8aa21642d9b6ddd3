/// A condition that knows its answer without waiting; it costs no task.
///
/// ``check(_:)`` is called by a worker of the operation's queue:
///
/// - When the operation's dependencies have finished, with its other conditions.
/// - Again right before the start, if the operation has waited since then: for a slot, for a claim,
///   for a suspended queue to be resumed, for a dependency that was added later, or for another
///   condition. What the answer was about may have changed meanwhile. The operation has its slot
///   then, and the claims that it waited for, and gives both back when the condition doesn't hold
///   any more.
///
/// So it is called once for an operation that starts at once, twice for most others, and once more
/// for each further wait. *Skip what was done already* is safe with it: in a queue with the limit
/// 1, or among operations that hold the same claim, no two see that nothing was done. The same
/// holds for an immediate condition that is a part of another one, wherever it stands in it, as in
/// `reachable && isNew`. The parts that had to be waited for keep their answers.
///
/// ```swift
/// struct OfficeHours: ImmediateCondition {
///   func check(_ operation: AdvancedOperation) -> OperationConditionResult {
///     isOpen() ? .satisfied : .skipped(reason: "the office is closed")
///   }
/// }
/// ```
public protocol ImmediateCondition: OperationCondition {
  /// Returns the answer; called on a worker, without a lock held, and must not block.
  ///
  /// Other operations need the worker: a blocking wait for an operation or a queue traps. A
  /// condition that has to wait is an ``OperationCondition`` whose `evaluate(for:)` awaits. The
  /// operation is ``AdvancedOperation/current``.
  ///
  /// - Parameter operation: The operation that the condition is attached to.
  /// - Returns: The answer.
  func check(_ operation: AdvancedOperation) -> OperationConditionResult
}

extension ImmediateCondition {
  /// What ``check(_:)`` returns.
  public func verdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    check(operation)
  }
  /// What ``check(_:)`` returns.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    check(operation)
  }
}
