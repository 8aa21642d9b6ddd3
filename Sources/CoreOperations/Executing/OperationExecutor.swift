import Dispatch
import Synchronization

/// A type that runs the workers of a queue.
///
/// A queue passes *workers* to its executor, not single operations. A worker takes ready operations
/// from its queue until there are none. At any time, at most one worker that the queue has
/// requested hasn't started yet. Therefore an executor receives few calls, however many operations
/// there are.
///
/// An executor that is also a `TaskExecutor` runs async bodies as well. Otherwise async bodies run
/// on the shared thread pool, or on the standard library's pool on Apple's systems. `DispatchQueue`
/// is a `TaskExecutor` from macOS 15.4 and iOS 18.4 on. On these systems, async bodies run on the
/// dispatch queue if the program contains `extension DispatchQueue: OperationExecutor`. On older
/// systems and on Linux, async bodies don't run on the dispatch queue.
///
/// ```swift
/// struct OneThread: OperationExecutor {
///   let queue = DispatchQueue(label: "import")
///   func enqueue(_ worker: @escaping @Sendable () -> Void) { queue.async(execute: worker) }
/// }
/// let queue = OperationQueue(executor: OneThread())
/// ```
public protocol OperationExecutor: Sendable {
  /// Runs a worker once, soon, and on another stack.
  ///
  /// A queue calls this method on any thread, while no lock is held. The method must return without
  /// having run the worker, because the caller may be in the middle of a change of state.
  ///
  /// - Parameter worker: A closure that returns when its queue has nothing to start or its share is
  ///   used up.
  func enqueue(_ worker: @escaping @Sendable () -> Void)

  /// The number of operations after which a worker leaves its thread to other workers; at least 1.
  ///
  /// The default is 256, however long the operations take. Return 1 if the executor's threads also
  /// do other work that mustn't wait. The library's executors end a turn earlier: the shared pool
  /// if a worker waits for a thread, and a dispatch queue after 2 ms.
  var operationsPerWorker: Int { get }
}

extension OperationExecutor {
  /// The default number of operations, which is 256.
  public var operationsPerWorker: Int { 256 }
}

/// The executor of queues that were created without an executor.
package enum DefaultExecutor {
  #if os(Linux) || os(Android)
  package static let shared: any OperationExecutor = ElasticThreadPool.shared
  #else
  package static let shared: any OperationExecutor = DispatchExecutor()
  #endif

  /// Returns the executor of a new queue, which is a separate executor if Dispatch has a thread pool for each
  /// quality of service.
  package static func forQueue() -> any OperationExecutor {
    #if os(Linux) || os(Android)
    shared
    #else
    DispatchExecutor()
    #endif
  }
}

/// An executor that runs workers on a dispatch queue.
///
/// The dispatch queue is that of `underlyingQueue`, the main queue, or the global queue of a quality of
/// service.
final class DispatchExecutor: OperationExecutor {
  /// The time that a worker keeps a thread, in nanoseconds.
  ///
  /// Other work of the program waits for that thread, such as the user interface on the main queue.
  static let longestTurn: Int64 = 2_000_000

  private let target: DispatchQueue?
  private let service = Atomic(QualityOfService.default.rawValue)

  /// - Parameter queue: The dispatch queue; nil for a global one.
  init(_ queue: DispatchQueue? = nil) { target = queue }

  /// Chooses the global queue for the workers that are requested from now on.
  func prefer(_ quality: QualityOfService) { service.store(quality.rawValue, ordering: .relaxed) }

  /// The dispatch queue that gets the next worker.
  var queue: DispatchQueue { target ?? .global(qos: dispatchClass) }

  func enqueue(_ worker: @escaping @Sendable () -> Void) {
    // The global queues drain their autorelease pools only when a thread becomes idle.
    queue.async { AutoreleasePool.drained(worker) }
  }

  private var dispatchClass: DispatchQoS.QoSClass {
    switch QualityOfService(rawValue: service.load(ordering: .relaxed)) {
    case .userInteractive: .userInteractive
    case .userInitiated: .userInitiated
    case .utility: .utility
    case .background: .background
    case .default, nil: .default
    }
  }
}
