/// A cause that keeps an operation from starting or from continuing.
///
/// ``Operation/waitCauses`` returns the causes of an operation, and its `debugDescription` prints
/// them.
///
/// ```swift
/// for cause in upload.waitCauses {
///   print("\(upload) \(cause)")
/// }
/// // upload (waiting) waits for compress
/// // upload (waiting) isn't in a queue
/// ```
///
/// Later versions may add cases, so a `switch` needs an `@unknown default`.
@nonexhaustive
public enum OperationWaitCause: Sendable, CustomStringConvertible {
  /// The operation isn't in a queue, and `start()` wasn't called.
  case notEnqueued
  /// The operation depends on these operations, which haven't finished.
  case dependencies([Operation])
  /// The queue of the operation is suspended.
  case suspended(OperationQueue)
  /// The operation waits behind a barrier, which runs once these operations have left the queue.
  ///
  /// The array of operations is empty if the barrier is running.
  case barrier(OperationQueue, behind: [Operation])
  /// The limit of the queue is reached, because these operations, the *holders*, are executing.
  ///
  /// The array of holders is empty if a barrier is running, or if the limit is 0.
  case limit(OperationQueue, Int, holders: [Operation])
  /// An override of `isReady` returns false, or the operation holds itself back.
  ///
  /// An `AdvancedOperation` holds itself back while its conditions are evaluated or its claims are
  /// acquired. Its `explain()` reports more about the conditions and claims.
  case notReady
  /// The operation can start, but the worker that the queue has requested from its executor hasn't
  /// begun.
  ///
  /// The description reports whether the system refuses more threads to the thread pool.
  case worker(OperationQueue)
  /// The operation can start on the main thread, but a wait for something else blocks the main
  /// thread.
  ///
  /// The associated value names the subject of that wait.
  case mainThread(waitsFor: String)
  /// The body of the operation, one of its conditions, or a task that these have created waits for
  /// these operations.
  case awaiting([Operation])

  /// The cause as the end of a sentence that begins with the operation, such as “waits for
  /// download”.
  public var description: String {
    switch self {
    case .notEnqueued: "isn't in a queue"
    case .dependencies(let operations): "waits for \(Self.list(operations))"
    case .suspended(let queue):
      "waits for queue “\(queue.label)” to be resumed"
        + (queue.suspensionReason.map { ": \($0)" } ?? "")
    case .barrier(let queue, let operations):
      operations.isEmpty
        ? "waits behind a barrier of queue “\(queue.label)” that is running"
        : "waits behind a barrier of queue “\(queue.label)”, which waits for "
          + Self.list(operations)
    case .limit(let queue, let limit, let holders):
      "waits for a slot of queue “\(queue.label)”, "
        + Self.reasonForNoSlot(limit: limit, holders: holders)
    case .notReady: "is not ready"
    case .mainThread(let label):
      "waits for the main thread, which is blocked by a wait for \(label)"
    case .worker(let queue):
      "waits for a worker of queue “\(queue.label)”"
        + (queue.scheduler.source.isShortOfThreads ? ": the system refuses more threads" : "")
    case .awaiting(let operations): "has code that waits for \(Self.list(operations))"
    }
  }

  /// The reason why there is no slot, as text that follows the name of the queue.
  package static func reasonForNoSlot(limit: Int, holders: [Operation]) -> String {
    limit == 0
      ? "whose limit is 0"
      : "whose limit of \(limit) is used up by "
        + (holders.isEmpty ? "a barrier" : Self.list(holders))
  }

  /// Returns the names of the first few operations, and the number of the other operations.
  private static func list(_ operations: [Operation]) -> String {
    let names = operations.prefix(8).map(\.label).joined(separator: ", ")
    return names + (operations.count > 8 ? " and \(operations.count - 8) more" : "")
  }
}

extension Operation {
  /// The causes that keep the operation from starting or continuing; empty if no cause is visible.
  ///
  /// The state of the operation's queue is read in one step. Other operations may have changed
  /// before the property returns.
  ///
  /// - Complexity: O(d), d the number of dependencies. O(n), n the number of operations in the
  ///   queue, if its slots are used up or a barrier is in front.
  public final var waitCauses: [OperationWaitCause] {
    let causes = currentWaits.compactMap(\.cause)
    // The layer holds the operation back, for example while it evaluates conditions.
    if causes.isEmpty, isLayered, life.current.phase == .enqueued { return [.notReady] }
    return causes
  }
}
