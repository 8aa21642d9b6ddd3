public import CoreOperations

/// An operation queue with a delegate and an environment.
///
/// ```swift
/// let queue = AdvancedOperationQueue()
/// queue.maxConcurrentOperationCount = 4
/// queue.addOperations([download, parse, store])
/// ```
///
/// Advanced operations work in every ``/CoreOperations/OperationQueue``; this one tells a delegate
/// about them and gives them an environment other than the default one.
open class AdvancedOperationQueue: OperationQueue, @unchecked Sendable {
  // Sendable: `settings` has a lock.
  private struct Settings {
    var environment: OperationEnvironment
    weak var delegate: (any AdvancedOperationQueueDelegate)?
  }

  private let settings: Locked<Settings>

  /// Creates a queue.
  ///
  /// - Parameter environment: What operations in this queue find as their environment.
  public init(environment: OperationEnvironment = OperationEnvironment()) {
    settings = Locked(Settings(environment: environment))
    super.init(executor: environment.executor ?? DefaultExecutor.shared)
  }

  /// What operations in this queue find as their environment.
  public final var environment: OperationEnvironment { settings.withLock { $0.environment } }

  /// Is told about the advanced operations of this queue; not retained.
  public final var delegate: (any AdvancedOperationQueueDelegate)? {
    get { settings.withLock { $0.delegate } }
    set { settings.withLock { $0.delegate = newValue } }
  }
}
