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

  package init(_ executor: any OperationExecutor, underlyingQueue: DispatchQueue? = nil) {
    self.executor = executor
    stepped = executor as? any SteppedExecutor
    isStepped = stepped != nil
    self.underlyingQueue = underlyingQueue
    isOnMainThread = underlyingQueue.map(MainThread.isQueue) ?? false
  }
}
