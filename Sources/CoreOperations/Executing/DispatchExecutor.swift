import Dispatch
import Synchronization

/// Runs workers on a dispatch queue: that of `underlyingQueue`, the main one, or the global one of
/// a quality of service.
final class DispatchExecutor: OperationExecutor {
  /// How long a worker keeps a thread, in nanoseconds.
  ///
  /// Other work of the program waits for that thread: on the main queue, the user interface.
  static let longestTurn: Int64 = 2_000_000

  private let target: DispatchQueue?
  private let service = Atomic(QualityOfService.default.rawValue)

  /// - Parameter queue: The dispatch queue; nil for a global one.
  init(_ queue: DispatchQueue? = nil) { target = queue }

  /// Chooses the global queue of the workers that are requested from now on.
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
