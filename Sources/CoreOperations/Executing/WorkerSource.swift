package import Dispatch

/// Where the workers of a queue come from, until that is changed.
///
/// All that belongs together is in one object, which the queue exchanges under its lock: of several
/// threads that change it at once, one is the last in every respect. A worker keeps the source that
/// it came from, and finds by identity whether that is still the queue's.
package final class WorkerSource: Sendable {
  let executor: any OperationExecutor
  /// The executor, if it decides every step.
  let stepped: (any SteppedExecutor)?
  /// Whether it does; read for each closure that is added, and cheaper than the existential.
  let isStepped: Bool
  /// The dispatch queue that the executor stands for, if the queue was given one.
  let underlyingQueue: DispatchQueue?
  /// Whether that is the main one.
  let isOnMainThread: Bool
  #if os(Linux) || os(Android)
  /// The executor, if it is a thread pool of this library.
  let pool: ElasticThreadPool?
  #endif

  package init(_ executor: any OperationExecutor, underlyingQueue: DispatchQueue? = nil) {
    self.executor = executor
    stepped = executor as? any SteppedExecutor
    isStepped = stepped != nil
    self.underlyingQueue = underlyingQueue
    isOnMainThread = underlyingQueue.map(MainThread.isQueue) ?? false
    #if os(Linux) || os(Android)
    pool = executor as? ElasticThreadPool
    #endif
  }

  /// Has a worker run soon.
  ///
  /// - Parameters:
  ///   - queue: The scheduler of the queue that it works for, as the pool tells queues apart.
  ///   - worker: The worker.
  func enqueue(workerOf queue: Scheduler, _ worker: @escaping @Sendable () -> Void) {
    #if os(Linux) || os(Android)
    if let pool { return pool.enqueue(workerOf: ObjectIdentifier(queue), worker) }
    #endif
    executor.enqueue(worker)
  }

  /// Whether workers wait, or have just waited, for threads that the system refuses.
  var isShortOfThreads: Bool {
    #if os(Linux) || os(Android)
    pool?.isShortOfThreads ?? false
    #else
    false
    #endif
  }
}
