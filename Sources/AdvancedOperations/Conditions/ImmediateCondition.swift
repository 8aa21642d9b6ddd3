/// A condition that knows its answer without waiting; it costs no task.
///
/// A worker of the operation's queue evaluates it up to twice:
///
/// - When the dependencies of the operation have finished, with its other conditions.
/// - Again when the operation starts, because anything may have changed in the meantime. The
///   operation has its slot and its claims then. It releases both if the condition isn't satisfied
///   any more.
///
/// *Skip what was done already* is safe with it: in a queue with the limit 1, or among operations
/// that hold the same claim, no two see that nothing was done. The same applies to an immediate
/// condition that is a part of another one, as in `reachable && isNew`. Asynchronous parts keep
/// their answers.
///
/// If ``check(_:)`` has an effect, make it idempotent for each operation: a second call for the same
/// operation must not count again. There are more than two calls only in two cases. If a call at the
/// start adds a dependency, the operation waits for it and evaluates its conditions again. If a claim
/// cancels its holder (``WhenBusy/cancelHolder``), the conditions are evaluated before that, too.
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
