/// A reason for which an operation doesn't start, or doesn't go on.
///
/// ``Operation/waitCauses`` gives those of an operation, and its `debugDescription` prints them.
///
/// ```swift
/// for cause in upload.waitCauses {
///   print("\(upload) \(cause)")
/// }
/// // upload (waiting) waits for compress
/// // upload (waiting) is in no queue
/// ```
///
/// Later versions may add cases, so a `switch` needs an `@unknown default`.
@nonexhaustive
public enum OperationWaitCause: Sendable, CustomStringConvertible {
  /// The operation is in no queue, and `start()` wasn't called.
  case notEnqueued
  /// The operation depends on these operations, which have not finished.
  case dependencies([Operation])
  /// The operation's queue is suspended.
  case suspended(OperationQueue)
  /// The operation was added after a barrier, which runs first, once these operations have left the
  /// queue; no operations when the barrier is running.
  case barrier(OperationQueue, behind: [Operation])
  /// The queue's limit is reached: these operations, the holders, are executing.
  ///
  /// There are no holders when a barrier is running, or when the limit is 0.
  case limit(OperationQueue, Int, holders: [Operation])
  /// An override of `isReady` returns false, or the operation holds itself back.
  ///
  /// An `AdvancedOperation` does while its conditions are evaluated or its claims are taken;
  /// `explain()` says more about these.
  case notReady
  /// Nothing keeps the operation from starting: the queue has requested a worker from its executor,
  /// and that hasn't begun yet.
  ///
  /// The description says so if the system refuses the thread pool more threads.
  case worker(OperationQueue)
  /// Nothing keeps the operation from starting on the main thread, and that is blocked by a wait
  /// for something else, which is named.
  case mainThread(waitsFor: String)
  /// The body of the operation, one of its conditions, or a task that these have created waits for
  /// these operations.
  case awaiting([Operation])

  /// The cause as the end of a sentence that begins with the operation: “waits for download”.
  public var description: String {
    switch self {
    case .notEnqueued: "is in no queue"
    case .dependencies(let operations): "waits for \(Self.list(operations))"
    case .suspended(let queue): "waits for queue “\(queue.label)” to be resumed"
    case .barrier(let queue, let operations):
      operations.isEmpty
        ? "waits behind a barrier of queue “\(queue.label)” that is running"
        : "waits behind a barrier of queue “\(queue.label)”, which waits for "
          + Self.list(operations)
    case .limit(let queue, let limit, let holders):
      limit == 0
        ? "waits for a slot of queue “\(queue.label)”, whose limit is 0"
        : "waits for a slot of queue “\(queue.label)”, whose limit of \(limit) is used up by "
          + (holders.isEmpty ? "a barrier" : Self.list(holders))
    case .notReady: "is not ready"
    case .mainThread(let label):
      "waits for the main thread, which is blocked by a wait for \(label)"
    case .worker(let queue):
      "waits for a worker of queue “\(queue.label)”"
        + (queue.scheduler.source.isShortOfThreads ? ": the system refuses more threads" : "")
    case .awaiting(let operations): "has code that waits for \(Self.list(operations))"
    }
  }

  /// The names of the first few, and how many more there are.
  private static func list(_ operations: [Operation]) -> String {
    let names = operations.prefix(8).map(\.label).joined(separator: ", ")
    return names + (operations.count > 8 ? " and \(operations.count - 8) more" : "")
  }
}

extension Operation {
  /// Why the operation doesn't start, or doesn't go on; empty when no reason is visible.
  ///
  /// Everything about the operation's queue is read in one step; other operations may have changed
  /// before this returns.
  ///
  /// - Complexity: O(d), d the number of dependencies; O(n), n the number of operations in the
  ///   queue, when its slots are used up or a barrier is in front.
  public final var waitCauses: [OperationWaitCause] {
    let causes = currentWaits.compactMap(\.cause)
    // Held back by its layer, which evaluates conditions for instance.
    if causes.isEmpty, isLayered, life.current.phase == .enqueued { return [.notReady] }
    return causes
  }
}
