public import CoreOperations

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

  /// The type of the operation that ``dependency(for:)`` returns, found by the compiler: any
  /// operation, including a plain `BlockOperation`.
  associatedtype Prerequisite: Operation = Operation

  /// Returns a *prerequisite*: an operation that has to run before the condition is evaluated, so
  /// that it can be satisfied; none by default.
  ///
  /// The method is called once, after the operation's own dependencies have finished. The
  /// prerequisite isn't a member of `dependencies`. The condition is evaluated whatever the outcome
  /// of the prerequisite. If the condition isn't satisfied, descriptions of the failure show what
  /// went wrong with the prerequisite.
  ///
  /// A prerequisite that isn't in a queue is added to the queue of the operation:
  ///
  /// - It takes no slot there. It starts as soon as it is ready, even if the limit is used up; with
  ///   a limit of 0 it doesn't start. A suspended queue and barriers keep it as they keep other
  ///   operations. If too many prerequisites could execute at the same time, give them a claim, or
  ///   return the same prerequisite for several operations.
  /// - It is cancelled with the operation. A prerequisite that conditions of several operations
  ///   have returned is cancelled with the last of them.
  /// - When the operation is cancelled at the moment in which the prerequisite is added, the
  ///   cancelled prerequisite may enter and leave the queue after the operation.
  ///
  /// A prerequisite that waits for the operation completes a cycle: the operations of the cycle are
  /// cancelled with an `OperationCycleError`. The condition fails with an
  /// ``OperationPrerequisiteError`` if the prerequisite is an ``AdvancedOperation`` and a child of
  /// a group that hasn't started.
  ///
  /// The result is an optional operation of any class. A method of this name that returns another
  /// type, such as an `Operation` that isn't optional, doesn't compile.
  ///
  /// - Parameter operation: The operation that the condition is attached to.
  /// - Returns: The operation to run, or nil.
  func dependency(for operation: AdvancedOperation) -> Prerequisite?

  // A method with another result would compile, match no requirement, and never be called: the
  // default would be. Each method of this name meets the next requirement, and one with another
  // result leaves the last requirement unmet, which is what it is for.

  /// The type of what a method `dependency(for:)` returns, whatever that is.
  @_documentation(visibility: internal)
  associatedtype _Dependency
  /// The method `dependency(for:)` of the condition, whatever it returns.
  @_documentation(visibility: internal)
  @_disfavoredOverload
  func dependency(for operation: AdvancedOperation) -> _Dependency
  /// Met if the method `dependency(for:)` returns an optional operation.
  @_documentation(visibility: internal)
  static var _dependencyReturnsOptionalOperation: Void { get }

  /// The answer, if it is known without waiting; nil, the default, has ``evaluate(for:)`` called.
  ///
  /// The operation calls it when its dependencies have finished, and again when it starts. If it
  /// returns nil at the start, the first answer is kept.
  ///
  /// Called on a worker that other operations need, without a lock held: it must not block. The
  /// operation is ``AdvancedOperation/current``.
  ///
  /// - Parameter operation: The operation that the condition is attached to.
  /// - Returns: The answer, or nil.
  func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult?

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
  public func dependency(for operation: AdvancedOperation) -> Operation? { nil }
  /// Not known without asking.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? { nil }
}

extension OperationCondition where _Dependency == Prerequisite? {
  /// Met.
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
/// If ``check(_:)`` has an effect, make it idempotent for each operation: a second call for the
/// same operation must not count again. There are more than two calls only in three cases. If a
/// call at the start adds a dependency, the operation waits for it and evaluates its conditions
/// again. If a claim cancels its holder (``WhenBusy/cancelHolder``), the conditions are evaluated
/// before that, too. A part that stands before an asynchronous one, as in `isNew && online`, is
/// called once more before that.
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
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    check(operation)
  }
  /// What ``check(_:)`` returns.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    check(operation)
  }
}
