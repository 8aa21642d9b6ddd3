/// Where a queue's workers run.
///
/// A queue hands *workers* to its executor, not single operations: a worker takes ready operations
/// from its queue until there are none. A queue never has more than one worker that it has asked
/// for and that has not started, so an executor sees few calls however many operations there are.
///
/// Async bodies run in the shared pool of threads (on other systems than Linux in that of the
/// standard library), unless the executor is a `TaskExecutor` too, which gets them then.
///
/// ```swift
/// struct OneThread: OperationExecutor {
///   let queue = DispatchQueue(label: "import")
///   func enqueue(_ worker: @escaping @Sendable () -> Void) { queue.async(execute: worker) }
/// }
/// let queue = OperationQueue(executor: OneThread())
/// ```
public protocol OperationExecutor: Sendable {
  /// Runs a worker, once, soon, and on another stack.
  ///
  /// Called from any thread, with no lock held. It must return without having run the worker: the
  /// caller may be in the middle of a change of state.
  ///
  /// - Parameter worker: Returns when its queue has nothing to start or its share is used up.
  func enqueue(_ worker: @escaping @Sendable () -> Void)

  /// After how many operations a worker goes to the end of the executor's line; at least 1.
  ///
  /// So other queues get their turn. It is 256 unless an executor says otherwise.
  var operationsPerWorker: Int { get }
}

extension OperationExecutor {
  /// 256.
  public var operationsPerWorker: Int { 256 }
}
