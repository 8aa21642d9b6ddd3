public import CoreOperations

/// A condition that must be satisfied before an operation executes.
///
/// An operation evaluates its conditions when all its dependencies have finished. The conditions are
/// evaluated at the same time, unless the operation's ``AdvancedOperation/conditionPolicy`` sets an order. No
/// lock is held during the evaluation, and the thread that added or cancelled the operation never evaluates a
/// condition.
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
/// If two conditions of an operation fail, both failures are reported. `a && b` is one condition, which
/// evaluates `b` only if `a` is satisfied.
public protocol OperationCondition: Sendable {
  /// The name of the condition in errors and explanations; by default, the name of the type.
  var name: String { get }

  /// The class of the operation that ``dependency(for:)`` returns, which the compiler infers.
  ///
  /// The class can be any operation class, including a plain `BlockOperation`.
  associatedtype Prerequisite: Operation = Operation

  /// Returns a *prerequisite*, which is an operation that runs before the condition is evaluated; by default,
  /// nil.
  ///
  /// A prerequisite does work that the condition requires, such as a sign-in. The method is called once,
  /// after the operation's own dependencies have finished. The prerequisite isn't a member of `dependencies`.
  /// The condition is evaluated after every outcome of the prerequisite, including a failure. If the
  /// condition isn't satisfied, descriptions of the failure include the failure of the prerequisite.
  ///
  /// A prerequisite that isn't in a queue is added to the queue of the operation:
  ///
  /// - The prerequisite doesn't take a slot, so it starts even if all slots are taken. However, it doesn't
  ///   start while the queue is suspended or the limit of the queue is 0. A barrier that was added after the
  ///   operation waits for the operation and for its prerequisite. If too many prerequisites could execute at
  ///   the same time, give them a claim, or return the same prerequisite for several operations.
  /// - The prerequisite is cancelled with the operation. A prerequisite that conditions of several operations
  ///   have returned is cancelled with the last of these operations.
  /// - If the operation is cancelled at the moment when the prerequisite is added, the cancelled prerequisite
  ///   may enter and leave the queue after the operation.
  ///
  /// A prerequisite that waits for the operation completes a cycle. The operations of the cycle are then
  /// cancelled with an `OperationCycleError`. The condition fails with an ``OperationPrerequisiteError`` if
  /// the prerequisite is an ``AdvancedOperation`` and a child of a group that hasn't started.
  ///
  /// The result is an optional operation of any class. A method of this name that returns another
  /// type, such as an `Operation` that isn't optional, doesn't compile.
  ///
  /// - Parameter operation: The operation that the condition is attached to.
  /// - Returns: The operation to run, or nil.
  func dependency(for operation: AdvancedOperation) -> Prerequisite?

  // A method with another result type would compile without matching a requirement, and the default method
  // would be called instead. The next requirement matches each method of this name. A method with another
  // result type leaves the last requirement unmet, so the compiler reports an error.

  /// The result type of the condition's method `dependency(for:)`.
  @_documentation(visibility: internal)
  associatedtype _Dependency
  /// The condition's method `dependency(for:)` with any result type.
  @_documentation(visibility: internal)
  @_disfavoredOverload
  func dependency(for operation: AdvancedOperation) -> _Dependency
  /// A requirement that is met if the method `dependency(for:)` returns an optional operation.
  @_documentation(visibility: internal)
  static var _dependencyReturnsOptionalOperation: Void { get }

  /// Returns the answer if it is known without waiting; by default, nil.
  ///
  /// If the method returns nil, the operation calls ``evaluate(for:)``. The operation calls this method when
  /// its dependencies have finished, and again when it starts. If the method returns nil at the start, the
  /// operation keeps the first answer.
  ///
  /// A worker calls the method, while no lock is held. The method must not block, because other operations
  /// need the worker. During the call, the operation is ``AdvancedOperation/current``.
  ///
  /// - Parameter operation: The operation that the condition is attached to.
  /// - Returns: The answer, or nil.
  func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult?

  /// Determines the answer, and returns it.
  ///
  /// - *Task*: The method runs in a task on the shared thread pool, or on the environment's executor if that
  ///   is a `TaskExecutor`. The task has the task-locals and the priority that an async body of the operation
  ///   will have. Other conditions and operations don't wait for the task.
  /// - *Blocking*: If possible, suspend instead of blocking the thread. Code that blocks its thread doesn't
  ///   hold a slot of the queue, and the shared pool adds a thread for other work. On Apple's systems the
  ///   task runs on the standard library's pool, and must not block.
  /// - *Cancelling*: The task is cancelled with the operation. The cancelled operation doesn't wait for the
  ///   task, and ignores its answer.
  /// - *Waiting*: During the call, the operation is ``AdvancedOperation/current``. A wait for an operation
  ///   that needs this operation throws an `OperationCycleError`, as it does in a body.
  ///
  /// - Parameter operation: The operation that the condition is attached to.
  /// - Returns: The answer.
  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult
}

extension OperationCondition {
  /// The name of the type.
  public var name: String { "\(Self.self)" }
  /// Returns nil, because the condition has no prerequisite by default.
  public func dependency(for operation: AdvancedOperation) -> Operation? { nil }
  /// Returns nil, so that the operation calls ``evaluate(for:)``.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? { nil }
}

extension OperationCondition where _Dependency == Prerequisite? {
  /// The requirement, which is met because the method returns an optional operation.
  @_documentation(visibility: internal)
  public static var _dependencyReturnsOptionalOperation: Void { () }
}

/// The answer of a condition.
public enum OperationConditionResult: Sendable {
  /// The operation may execute.
  case satisfied
  /// The operation must not execute; it fails with an ``OperationConditionError`` around this
  /// error.
  case failed(any Error)
  /// The operation has nothing to do: it doesn't execute, and its outcome is skipped, which isn't an error.
  case skipped(reason: String)

  /// A Boolean value that indicates whether the answer is ``satisfied``.
  public var isSatisfied: Bool {
    switch self {
    case .satisfied: true
    case .failed, .skipped: false
    }
  }
}

/// A condition that knows its answer without waiting, so its evaluation needs no task.
///
/// A worker of the operation's queue evaluates the condition up to twice:
///
/// - When the dependencies of the operation have finished, together with its other conditions.
/// - Again when the operation starts, because anything may have changed in the meantime. The operation then
///   has its slot and its claims, and releases both if the condition isn't satisfied any more.
///
/// An immediate condition that skips work that was already done is safe. In a queue with the limit 1, or
/// among operations that hold the same claim, two operations never both find that the work is still to be
/// done. The same applies to an immediate condition that is a part of another condition, as in
/// `reachable && isNew`. Asynchronous parts keep their answers.
///
/// If ``check(_:)`` has a side effect, make it idempotent for each operation: a second call for the same
/// operation must not have the effect again. More than two calls occur only in three cases:
///
/// - If a call at the start adds a dependency, the operation waits for the dependency and evaluates its
///   conditions again.
/// - If a claim cancels its holder (``WhenBusy/cancelHolder``), the conditions are also evaluated before that
///   cancel.
/// - A part that stands before an asynchronous part, as in `isNew && online`, is called twice when the
///   dependencies have finished.
///
/// ```swift
/// struct OfficeHours: ImmediateCondition {
///   func check(_ operation: AdvancedOperation) -> OperationConditionResult {
///     isOpen() ? .satisfied : .skipped(reason: "the office is closed")
///   }
/// }
/// ```
public protocol ImmediateCondition: OperationCondition {
  /// Returns the answer, without blocking the worker that calls the method.
  ///
  /// Other operations need the worker, so a blocking wait for an operation or a queue traps. If the condition
  /// has to wait, implement `evaluate(for:)` of ``OperationCondition`` instead, and await there. No lock is
  /// held during the call, and the operation is ``AdvancedOperation/current``.
  ///
  /// - Parameter operation: The operation that the condition is attached to.
  /// - Returns: The answer.
  func check(_ operation: AdvancedOperation) -> OperationConditionResult
}

extension ImmediateCondition {
  /// Returns the answer of ``check(_:)``.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    check(operation)
  }
  /// Returns the answer of ``check(_:)``.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    check(operation)
  }
}
