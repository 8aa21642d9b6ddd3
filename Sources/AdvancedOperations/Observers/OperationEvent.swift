/// Something that happened to an operation.
///
/// ``AdvancedOperation/events`` gives those of one operation, and `RecordingObserver` of
/// AdvancedOperationsTesting keeps them for a test:
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
  /// A queue took it in.
  case enqueued
  /// It began to execute.
  case started
  /// It added another operation to its queue.
  case produced(AdvancedOperation)
  /// It reported how far it is.
  case progress(OperationProgress)
  /// An attempt failed, and another one follows after a delay: see ``RetryPolicy``.
  case retrying(OperationRetry)
  /// It was cancelled; with its ``AdvancedOperation/errors`` at that time.
  case cancelled([any Error])
  /// Its outcome was decided.
  case willFinish(OperationOutcome)
  /// It is over.
  case finished(OperationOutcome)
  /// So many events are missing here: the loop over ``OperationEvents`` was slower than they came.
  case dropped(count: Int)

  /// What happened, without the values that come with it.
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

  /// What happened, without the values that come with it.
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

/// An attempt of an operation that failed, and the next one, which its ``RetryPolicy`` allows.
public struct OperationRetry: Sendable {
  /// The number of the attempt to come: 2 when the first has failed.
  public var nextAttempt: Int
  /// How long the operation waits before it, by the clock of its environment.
  public var delay: Duration
  /// Why the last attempt failed; the same that the policy has got.
  public var error: any Error

  package init(nextAttempt: Int, delay: Duration, error: any Error) {
    self.nextAttempt = nextAttempt
    self.delay = delay
    self.error = error
  }
}
