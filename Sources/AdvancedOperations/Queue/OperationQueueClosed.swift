/// The queue of an operation is being drained, or was: the reason of a cancel.
///
/// ```swift
/// if operation.cancellationReason is OperationQueueClosed { refuse() }
/// ```
public struct OperationQueueClosed: Error, Hashable, CustomStringConvertible {
  /// Why the operation was cancelled.
  public enum Cause: Sendable, Hashable {
    /// It was added from outside after the drain had begun, or after the time was over.
    case addedLate
    /// It had not finished after this time.
    case timeIsOver(Duration)
    /// It had not finished when the task was cancelled that waited for the drain.
    case waitCancelled
  }

  /// What the queue is called.
  public var queue: String
  /// Why the operation was cancelled.
  public var cause: Cause

  /// Creates the error.
  ///
  /// - Parameters:
  ///   - queue: What the queue is called.
  ///   - cause: Why the operation was cancelled.
  public init(queue: String, cause: Cause) {
    self.queue = queue
    self.cause = cause
  }

  /// One sentence with the name of the queue and the cause.
  public var description: String {
    switch cause {
    case .addedLate: "Queue “\(queue)” is being drained, or was, and takes in nothing new."
    case .timeIsOver(let duration):
      "Queue “\(queue)” was drained, and its operations had \(duration.readable) to finish."
    case .waitCancelled: "Queue “\(queue)” was drained, and the task that waited was cancelled."
    }
  }
}
