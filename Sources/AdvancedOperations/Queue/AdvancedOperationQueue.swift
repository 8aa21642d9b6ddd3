public import CoreOperations
import Synchronization

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
    var lastObserver: UInt32 = 0
    weak var delegate: (any AdvancedOperationQueueDelegate)?
  }

  private let settings: Locked<Settings>
  /// Whether a delegate was ever set; written before it is, so that no later operation misses it.
  private let hadDelegate = Atomic(false)
  final var mayHaveDelegate: Bool { hadDelegate.load(ordering: .acquiring) }

  /// Creates a queue.
  ///
  /// - Parameter environment: What operations in this queue find as their environment.
  public init(environment: OperationEnvironment = OperationEnvironment()) {
    settings = Locked(Settings(environment: environment))
    super.init(executor: environment.executor ?? DefaultExecutor.shared)
    LiveQueues.add(self)
  }

  /// What operations in this queue find as their environment.
  public final var environment: OperationEnvironment { settings.withLock { $0.environment } }

  /// Cancels every operation that is in the queue at this moment, with a reason; barriers stay.
  ///
  /// All are flagged before anything is started or any observer is told. The reason is in `errors` and
  /// `cancellationReason` of each, also in the `cancellationReason` of operations of other kinds.
  ///
  /// ```swift
  /// queue.cancelAllOperations(withError: LoggedOut())
  /// ```
  ///
  /// - Parameter error: The reason.
  /// - Complexity: O(n), n the number of operations in the queue.
  public final func cancelAllOperations(withError error: any Error) { cancelAll(reason: error) }

  /// Is told about the advanced operations of this queue; not retained.
  public final var delegate: (any AdvancedOperationQueueDelegate)? {
    get { mayHaveDelegate ? settings.withLock { $0.delegate } : nil }
    set {
      hadDelegate.store(true, ordering: .releasing)
      settings.withLock { $0.delegate = newValue }
    }
  }

  /// Attaches an observer to every operation that is added from now on.
  ///
  /// Also to what runs in the same environment because of them: children of groups, helpers of
  /// conditions.
  ///
  /// ```swift
  /// queue.addObserver(BlockObserver(didFinish: { operation, _ in print(operation) }))
  /// ```
  ///
  /// - Parameter observer: Told of everything, being attached before the operation is enqueued.
  /// - Returns: Spares later operations when told to; those that were added keep it.
  @discardableResult
  public final func addObserver(_ observer: any OperationObserver) -> OperationObservation {
    let id = settings.withLock { settings in
      settings.lastObserver += 1
      let entry = ObserverEntry(id: settings.lastObserver, observer: observer)
      settings.environment.observers.append(entry)
      return entry.id
    }
    return OperationObservation(removal: { [weak self] in
      let old = self?.settings.withLock { settings in
        let old = settings.environment
        settings.environment.observers.removeAll { $0.id == id }
        return old
      }
      withExtendedLifetime(old) {}
    })
  }
}
