public import CoreOperations

/// The numbers of outcomes of a queue's operations, as ``AdvancedOperationQueue/drain(within:)`` returns
/// them.
///
/// ```swift
/// let report = await queue.drain(within: .seconds(20))
/// print(report)
/// // 12 succeeded, 1 failed, 2 cancelled, cut short: upload, mail
/// ```
///
/// The report counts the operations that were in the queue when the drain began, and the operations that they
/// have added since. A child of a group is counted with the group.
public struct OperationDrainReport: Sendable, CustomStringConvertible {
  /// The number of operations that ended without an error.
  public internal(set) var succeededCount = 0
  /// The number of operations that failed without being cancelled.
  public internal(set) var failedCount = 0
  /// The number of operations that were cancelled, for any reason.
  public internal(set) var cancelledCount = 0
  /// The number of operations that were skipped.
  public internal(set) var skippedCount = 0
  /// The number of operations that were turned away.
  ///
  /// The queue turned an operation away if code other than its operations added it during the drain, or if
  /// any code added it after the time limit. The other numbers don't include these operations.
  public internal(set) var turnedAwayCount = 0
  /// The operations that the drain cancelled, at its time limit or because its task was cancelled, in the
  /// order of their ends.
  public internal(set) var cutShort: [Operation] = []

  /// The numbers that aren't zero, and the names of the operations that were cut short.
  public var description: String {
    let counts = [
      (succeededCount, "succeeded"), (failedCount, "failed"), (cancelledCount, "cancelled"),
      (skippedCount, "skipped"), (turnedAwayCount, "turned away"),
    ]
    var parts = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    if parts.isEmpty { parts = ["nothing was left"] }
    if !cutShort.isEmpty {
      parts.append("cut short: " + cutShort.map(\.label).joined(separator: ", "))
    }
    return parts.joined(separator: ", ")
  }

  mutating func count(_ operation: Operation, isCutShort: Bool) {
    switch (operation as? AdvancedOperation)?.outcome {
    case .succeeded: succeededCount += 1
    case .failed: failedCount += 1
    case .skipped: skippedCount += 1
    case .cancelled: cancelledCount += 1
    case nil: if operation.isCancelled { cancelledCount += 1 } else { succeededCount += 1 }
    }
    if isCutShort && operation.isCancelled { cutShort.append(operation) }
  }
}

/// The reason for cancelling an operation because its queue is being drained, or was drained.
///
/// ```swift
/// if operation.cancellationReason is OperationQueueClosed { refuse() }
/// ```
public struct OperationQueueClosed: Error, Hashable, CustomStringConvertible {
  /// The cause for which a drain cancels an operation.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Cause: Sendable, Hashable {
    /// Code other than the queue's operations added the operation after the drain had begun, or any code
    /// added it after the time limit of the drain.
    case addedLate
    /// The operation had not finished after this duration, which was the limit of the drain.
    case deadlineExceeded(Duration)
    /// The task that waited for the drain was cancelled before the operation had finished.
    case waitCancelled
  }

  /// The name of the queue.
  public var queue: String
  /// The cause of the cancel.
  public var cause: Cause

  /// A sentence with the name of the queue and the cause.
  public var description: String {
    switch cause {
    case .addedLate:
      "Queue “\(queue)” is being drained, or was drained, and accepts no new operations."
    case .deadlineExceeded(let duration):
      "Queue “\(queue)” was drained, and its operations had \(duration.readable) to finish."
    case .waitCancelled: "Queue “\(queue)” was drained, and the task that waited was cancelled."
    }
  }
}
