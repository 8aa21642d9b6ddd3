package import Dispatch

/// Runs workers on a dispatch queue: that of `underlyingQueue`, or the main one.
package struct DispatchExecutor: OperationExecutor {
  let queue: DispatchQueue

  package init(_ queue: DispatchQueue) { self.queue = queue }

  package func enqueue(_ worker: @escaping @Sendable () -> Void) { queue.async(execute: worker) }

  /// Fewer than elsewhere: other work of the program waits behind a worker.
  package var operationsPerWorker: Int { 32 }
}

/// The executor of queues that were given none.
package enum DefaultExecutor {
  #if os(Linux)
  package static let shared: any OperationExecutor = ElasticThreadPool.shared
  #else
  package static let shared: any OperationExecutor = DispatchExecutor(.global())
  #endif
}
