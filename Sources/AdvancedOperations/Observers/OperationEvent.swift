/// An event of an operation.
///
/// ``AdvancedOperation/events`` is the sequence of events of one operation. In a test, `RecordingObserver` of
/// AdvancedOperationsTesting stores the events:
///
/// ```swift
/// for event in recorder.events {
///   if case .finished(let outcome) = event { print(outcome) }
/// }
/// ```
///
/// Later versions may add cases, so a `switch` needs an `@unknown default`.
@nonexhaustive
public enum OperationEvent: Sendable {
  /// The operation was added to a queue.
  case enqueued
  /// The operation began to execute.
  case started
  /// The operation added another operation to its queue.
  case produced(AdvancedOperation)
  /// The operation reported its progress.
  case progress(OperationProgress)
  /// An attempt failed, and another attempt follows after a delay; see ``RetryPolicy``.
  case retrying(OperationRetry)
  /// The operation was cancelled; the value contains its ``AdvancedOperation/errors`` at that time.
  case cancelled([any Error])
  /// The outcome of the operation was decided.
  case willFinish(OperationOutcome)
  /// The operation has finished.
  case finished(OperationOutcome)
  /// A number of events were dropped, because the loop over ``OperationEvents`` was slower than the
  /// operation.
  case dropped(count: Int)

  /// The kind of an event, without its associated values.
  ///
  /// ```swift
  /// try expectEvents(of: recorder, are: [.enqueued, .started, .willFinish, .finished])
  /// ```
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Kind: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// See ``OperationEvent/enqueued``.
    case enqueued
    /// See ``OperationEvent/started``.
    case started
    /// See ``OperationEvent/produced(_:)``.
    case produced
    /// See ``OperationEvent/progress(_:)``.
    case progress
    /// See ``OperationEvent/retrying(_:)``.
    case retrying
    /// See ``OperationEvent/cancelled(_:)``.
    case cancelled
    /// See ``OperationEvent/willFinish(_:)``.
    case willFinish
    /// See ``OperationEvent/finished(_:)``.
    case finished
    /// See ``OperationEvent/dropped(count:)``.
    case dropped

    /// The name of the case.
    public var description: String { rawValue }
  }

  /// The kind of an event, without its associated values.
  public var kind: Kind {
    switch self {
    case .enqueued: .enqueued
    case .started: .started
    case .produced: .produced
    case .progress: .progress
    case .retrying: .retrying
    case .cancelled: .cancelled
    case .willFinish: .willFinish
    case .finished: .finished
    case .dropped: .dropped
    }
  }
}

/// A failed attempt of an operation, and the next attempt, which the ``RetryPolicy`` of the
/// operation allows.
public struct OperationRetry: Sendable {
  /// The number of the next attempt: 2 if the first attempt has failed.
  public var nextAttempt: Int
  /// The time that the operation waits before the next attempt, by the clock of its environment.
  public var delay: Duration
  /// The error of the failed attempt, which the policy has also received.
  public var error: any Error

  package init(nextAttempt: Int, delay: Duration, error: any Error) {
    self.nextAttempt = nextAttempt
    self.delay = delay
    self.error = error
  }
}
