/// Where a queue's workers run.
///
/// A queue hands *workers* to its executor, not single operations: a worker takes ready operations
/// from its queue until there are none. A queue never has more than one worker that it has asked
/// for and that has not started, so an executor sees few calls however many operations there are.
///
/// An executor that is a `TaskExecutor` too also runs async bodies. Otherwise they run on the
/// shared thread pool, or on the standard library's pool on Apple's systems. `DispatchQueue` is a
/// `TaskExecutor` from macOS 15.4 and iOS 18.4 on, so `extension DispatchQueue: OperationExecutor`
/// gives async bodies to the dispatch queue on these systems, and not on older ones or on Linux.
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

  /// The number of operations after which a worker leaves its thread to other workers; at least 1.
  ///
  /// The default is 256, however long the operations take. Return 1 if the executor's threads also
  /// do other work that mustn't wait. (The library's executors end a turn earlier: the shared pool
  /// if a worker waits for a thread, and a dispatch queue after 2 ms.)
  var operationsPerWorker: Int { get }
}

extension OperationExecutor {
  /// 256.
  public var operationsPerWorker: Int { 256 }
}
