/// Something that must hold before an operation executes.
///
/// Evaluated when all dependencies of the operation have finished, at the same time as its other
/// conditions unless the operation's ``AdvancedOperation/conditionPolicy`` says otherwise. No lock
/// is held meanwhile, and it never happens on the thread that added or cancelled the operation.
///
/// ```swift
/// struct Reachable: OperationCondition {
///   let host: String
///   var name: String { "reachable(\(host))" }
///   func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
///     await ping(host) ? .satisfied : .failed(Unreachable(host: host))
///   }
/// }
/// ```
///
/// Two conditions of an operation are evaluated concurrently, and both report. `a && b` evaluates
/// the second only if the first holds.
public protocol OperationCondition: Sendable {
  /// What the condition is called in errors and explanations; the type's name by default.
  var name: String { get }

  /// An operation that has to run before the condition is asked, to make it hold; none by default.
  ///
  /// Asked for once, after the operation's own dependencies have finished. It is no member of
  /// `dependencies`; if it is in no queue it is added to that of the operation, and then cancelled
  /// with it. The condition is asked whatever its outcome; if it doesn't hold, descriptions of the
  /// failure show what went wrong with the helper. When the operation is cancelled at the moment in
  /// which the helper is added, the cancelled helper may enter and leave the queue after the
  /// operation.
  ///
  /// A helper that waits for the operation completes a cycle: the operations of the cycle are
  /// cancelled with an `OperationCycleError`. The condition fails with an ``OperationHelperError``
  /// when the helper is a child of a group that has not started.
  ///
  /// - Parameter operation: The operation that the condition is attached to.
  /// - Returns: The operation to run, or nil.
  func dependency(for operation: AdvancedOperation) -> AdvancedOperation?

  /// The answer, if it is known without waiting; nil, the default, has ``evaluate(for:)`` called.
  ///
  /// The queue asks again right before the start of an operation that has waited, if one of its
  /// conditions has an ``ImmediateCondition``. If this returns nil then, the answer stays what it
  /// was.
  ///
  /// Called on a worker that other operations need, without a lock held: it must not block. The
  /// operation is ``AdvancedOperation/current``.
  ///
  /// - Parameter operation: The operation that the condition is attached to.
  /// - Returns: The answer, or nil.
  func verdict(for operation: AdvancedOperation) -> OperationConditionResult?

  /// Finds out the answer, and returns it.
  ///
  /// - *Where*: in a task on the shared pool of threads, or on the environment's executor if that
  ///   is a `TaskExecutor`. The task has the task-locals and the priority that an async body of the
  ///   operation will have. Other conditions and operations don't wait for it.
  /// - *Blocking*: suspend instead, where that is possible. Code that blocks its thread holds no
  ///   slot of the queue, and the shared pool makes room for others. On Apple's systems the task
  ///   runs on the standard library's pool, and mustn't block.
  /// - *Cancelling*: the task is cancelled with the operation. The operation doesn't wait for it to
  ///   return then, and the answer is ignored.
  /// - *Waiting*: the operation is ``AdvancedOperation/current``. A wait for something that needs
  ///   the operation throws an `OperationCycleError`, as it does in a body.
  ///
  /// - Parameter operation: The operation that the condition is attached to.
  /// - Returns: The answer.
  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult
}

extension OperationCondition {
  /// The type's name.
  public var name: String { "\(Self.self)" }
  /// None.
  public func dependency(for operation: AdvancedOperation) -> AdvancedOperation? { nil }
  /// Not known without asking.
  public func verdict(for operation: AdvancedOperation) -> OperationConditionResult? { nil }
}

/// The answer of a condition.
public enum OperationConditionResult: Sendable {
  /// The operation may execute.
  case satisfied
  /// The operation must not execute; it fails with an ``OperationConditionError`` around this
  /// error.
  case failed(any Error)
  /// There is nothing to do: the operation doesn't execute, and that is no error.
  case skipped(reason: String)

  /// Whether this is ``satisfied``.
  public var isSatisfied: Bool {
    switch self {
    case .satisfied: true
    case .failed, .skipped: false
    }
  }
}
