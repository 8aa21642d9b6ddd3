public import CoreOperations

/// An operation queue with a delegate and an environment.
///
/// ```swift
/// let queue = AdvancedOperationQueue()
/// queue.maxConcurrentOperationCount = 4
/// queue.addOperations([download, parse, store])
/// ```
///
/// Advanced operations work in every ``/CoreOperations/OperationQueue``. An advanced queue also notifies its
/// delegate about its advanced operations, and attaches observers of the queue to them. An advanced queue can
/// have an environment other than the default environment.
///
/// Prefer an observer or an interceptor to a subclass that overrides `addOperation(_:)`. Observers and
/// interceptors are also attached to operations that groups and conditions add.
open class AdvancedOperationQueue: OperationQueue, @unchecked Sendable {
  // Sendable: `settings` has a lock.
  private struct Settings {
    var environment: OperationEnvironment
    var lastAttached: UInt32 = 0
    weak var delegate: (any AdvancedOperationQueueDelegate)?
  }

  private let settings: Locked<Settings>
  private let delegates: OperationEnvironment.Delegates

  /// Creates a queue.
  ///
  /// ```swift
  /// let imports = AdvancedOperationQueue(name: "imports", maxConcurrentOperationCount: 4)
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the queue; nil for the name that `OperationQueue` chooses.
  ///   - maxConcurrentOperationCount: The number of operations that may execute at the same time; the number
  ///     of threads by default.
  ///   - environment: The environment of the operations in this queue. Its executor runs the operations.
  /// - Precondition: The limit is not negative, or `defaultMaxConcurrentOperationCount`.
  public init(
    name: String? = nil,
    maxConcurrentOperationCount: Int = OperationQueue.defaultMaxConcurrentOperationCount,
    environment: OperationEnvironment = OperationEnvironment()
  ) {
    settings = Locked(Settings(environment: environment))
    delegates = environment.delegates
    super.init(executor: environment.executor ?? DefaultExecutor.forQueue())
    if type(of: self) == AdvancedOperationQueue.self { keepClosures() }
    if let name { self.name = name }
    if maxConcurrentOperationCount != OperationQueue.defaultMaxConcurrentOperationCount {
      self.maxConcurrentOperationCount = maxConcurrentOperationCount
    }
  }

  /// Creates a queue with a new environment; a subclass may override this initializer.
  public override init() {
    let environment = OperationEnvironment()
    settings = Locked(Settings(environment: environment))
    delegates = environment.delegates
    super.init(executor: DefaultExecutor.forQueue())
    if type(of: self) == AdvancedOperationQueue.self { keepClosures() }
  }

  /// The environment of the operations in this queue.
  public final var environment: OperationEnvironment { settings.withLock { $0.environment } }

  /// Cancels every operation that is in the queue at this moment with a reason, except for barriers.
  ///
  /// All operations are marked as cancelled before an operation starts or an observer is notified. The reason
  /// is in the `errors` and `cancellationReason` of each advanced operation, and in the `cancellationReason`
  /// of each plain operation.
  ///
  /// ```swift
  /// queue.cancelAllOperations(withError: LoggedOut())
  /// ```
  ///
  /// - Parameter error: The reason.
  /// - Complexity: O(n), n the number of operations in the queue.
  public final func cancelAllOperations(withError error: any Error) { cancelAll(reason: error) }

  /// The object that is notified of the advanced operations of this queue; not retained.
  public final var delegate: (any AdvancedOperationQueueDelegate)? {
    get { delegates.mayExist ? settings.withLock { $0.delegate } : nil }
    set {
      // The flag is set first, so that no later operation misses the delegate.
      delegates.willBeSet()
      settings.withLock { $0.delegate = newValue }
    }
  }

  /// Attaches an observer to each operation that is added from now on.
  ///
  /// The observer is also attached to operations that run in the same environment because of them. These are
  /// children of groups, prerequisites of conditions, and the operations of scopes in their bodies. An
  /// operation that isn't an ``AdvancedOperation``, such as a `BlockOperation`, has no observers.
  ///
  /// ```swift
  /// queue.addObserver(BlockObserver(didFinish: { operation, _ in print(operation) }))
  /// ```
  ///
  /// - Parameter observer: The observer, which is notified of all events because it is attached before the
  ///   operation is enqueued. The queue and its operations retain it.
  /// - Returns: The attachment to the queue. If you call its `remove()`, operations that are added later
  ///   don't get the observer. Earlier operations keep it until they have finished.
  @discardableResult
  public final func addObserver(_ observer: any OperationObserver) -> OperationObservation {
    attach(observer, to: \.observers)
  }

  /// Adds an interceptor around each async body of the operations that are added from now on.
  ///
  /// The interceptor also runs around bodies of operations that run in the same environment because of them.
  /// These are children of groups, prerequisites of conditions, attempts of a ``RetryOperation``, and the
  /// operations of scopes in their bodies. The interceptor doesn't run around an `execute()` override, or
  /// around a closure that is added to the queue without an operation. The first of several interceptors is
  /// the outermost.
  ///
  /// ```swift
  /// queue.addInterceptor(Tracing())
  /// ```
  ///
  /// - Parameter interceptor: The interceptor, which the queue and its operations retain.
  /// - Returns: The attachment to the queue. If you call its `remove()`, operations that are added later
  ///   don't get the interceptor. Earlier operations keep it.
  @discardableResult
  public final func addInterceptor(
    _ interceptor: any OperationInterceptor
  ) -> OperationObservation {
    attach(interceptor, to: \.interceptors)
  }

  /// Adds a value to the environment of later operations; the returned attachment can remove it again.
  private func attach<Value>(
    _ value: Value,
    to list: any WritableKeyPath<OperationEnvironment, [QueueAttachment<Value>]> & Sendable
  ) -> OperationObservation {
    let id = settings.withLock { settings in
      settings.lastAttached += 1
      let attachment = QueueAttachment(id: settings.lastAttached, value: value)
      settings.environment[keyPath: list].append(attachment)
      return attachment.id
    }
    return OperationObservation(removal: { [weak self] in
      let old = self?.settings.withLock { settings in
        let old = settings.environment
        settings.environment[keyPath: list].removeAll { $0.id == id }
        return old
      }
      withExtendedLifetime(old) {}
    })
  }
}

/// An object that a queue notifies of its advanced operations.
///
/// No lock is held during a call, so each method may call any method of the queue and the operation. By
/// default each method does nothing. A method whose parameters have other types doesn't implement a
/// requirement, and is never called.
///
/// ```swift
/// final class Deadlines: AdvancedOperationQueueDelegate {
///   func operationQueue(_ queue: AdvancedOperationQueue, willAdd operation: AdvancedOperation) {
///     operation.addObserver(TimeoutObserver(.seconds(60)))
///   }
/// }
/// let deadlines = Deadlines()
/// queue.delegate = deadlines
/// ```
public protocol AdvancedOperationQueueDelegate: AnyObject, Sendable {
  /// Called when the operation is about to be added to the queue.
  ///
  /// The method is the last chance to add conditions. The method is called on the thread that adds the
  /// operation.
  func operationQueue(_ queue: AdvancedOperationQueue, willAdd operation: AdvancedOperation)
  /// Called when the operation has been added to the queue, and its observers have been notified of that.
  ///
  /// The method is called on the thread that adds the operation.
  func operationQueue(_ queue: AdvancedOperationQueue, didAdd operation: AdvancedOperation)
  /// Called when the operation has ended, and its observers have been notified of that.
  ///
  /// The method is called on the thread that notified them, before dependents start.
  func operationQueue(
    _ queue: AdvancedOperationQueue,
    didFinish operation: AdvancedOperation,
    outcome: OperationOutcome
  )
}

extension AdvancedOperationQueueDelegate {
  /// Does nothing.
  public func operationQueue(
    _ queue: AdvancedOperationQueue,
    willAdd operation: AdvancedOperation
  ) {}
  /// Does nothing.
  public func operationQueue(
    _ queue: AdvancedOperationQueue,
    didAdd operation: AdvancedOperation
  ) {}
  /// Does nothing.
  public func operationQueue(
    _ queue: AdvancedOperationQueue,
    didFinish operation: AdvancedOperation,
    outcome: OperationOutcome
  ) {}
}
