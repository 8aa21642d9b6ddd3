/// Something that must hold before an operation executes.
///
/// Asked when all dependencies of the operation have finished, at the same time as its other
/// conditions, without a lock held and never on the thread that added or cancelled the operation.
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
/// Two conditions of an operation are asked concurrently and both report; `a && b` asks in order
/// and stops.
public protocol OperationCondition: Sendable {
  /// What the condition is called in errors and explanations; the type's name by default.
  var name: String { get }

  /// An operation that has to run before the condition is asked, to make it hold; none by default.
  ///
  /// Asked for once, after the operation's own dependencies have finished. It is no member of
  /// `dependencies`; if it is in no queue it is added to that of the operation, and then cancelled
  /// with it. The condition is asked whatever its outcome.
  ///
  /// A helper that waits for the operation closes a ring: the operations of the ring are cancelled with
  /// an `OperationCycleError`. The condition fails with an ``OperationHelperError`` when the helper is a
  /// child of a group that has not started.
  ///
  /// - Parameter operation: The operation that the condition is attached to.
  /// - Returns: The operation to run, or nil.
  func dependency(for operation: AdvancedOperation) -> AdvancedOperation?

  /// The answer, if it is known without waiting; nil, the default, has ``evaluate(for:)`` asked.
  ///
  /// - Parameter operation: The operation that the condition is attached to.
  /// - Returns: The answer, or nil.
  func verdict(for operation: AdvancedOperation) -> OperationConditionResult?

  /// The answer.
  ///
  /// In a task that is cancelled with the operation; what it then answers is ignored. The task has the
  /// task-locals and the priority that the body will have, where operations have an async body. It may
  /// begin on the worker that asks, as if on a thread of its own, and keeps nobody else from being asked.
  ///
  /// The operation is ``AdvancedOperation/current``. A wait for something that needs the operation
  /// throws an `OperationCycleError` there, as it does in a body.
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

/// What a condition answers.
public enum OperationConditionResult: Sendable {
  /// The operation may execute.
  case satisfied
  /// The operation must not execute; it fails with an ``OperationConditionError`` around this error.
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
