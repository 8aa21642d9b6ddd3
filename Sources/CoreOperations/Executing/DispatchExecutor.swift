import Dispatch

/// Runs workers on a dispatch queue: that of `underlyingQueue`, or the main one.
struct DispatchExecutor: OperationExecutor {
  let queue: DispatchQueue

  init(_ queue: DispatchQueue) { self.queue = queue }

  func enqueue(_ worker: @escaping @Sendable () -> Void) { queue.async(execute: worker) }

  /// Fewer than elsewhere: other work of the program waits behind a worker.
  var operationsPerWorker: Int { 32 }
}
