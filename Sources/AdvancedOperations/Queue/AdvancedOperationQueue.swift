public import CoreOperations

/// An operation queue with a delegate and an environment.
///
/// ```swift
/// let queue = AdvancedOperationQueue()
/// queue.maxConcurrentOperationCount = 4
/// queue.addOperations([download, parse, store])
/// ```
///
/// Advanced operations work in every ``/CoreOperations/OperationQueue``; this one notifies a
/// delegate and observers of them, and gives them an environment other than the default one.
///
/// Prefer an observer or an interceptor to a subclass that overrides `addOperation(_:)`: they also
/// get what groups and conditions add.
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
  ///   - name: What the queue is called; nil for the name that a new queue has.
  ///   - maxConcurrentOperationCount: How many operations may be executing at once; as many as
  ///     there are threads unless given.
  ///   - environment: The environment of the operations in this queue. Its executor runs them.
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

  /// Creates a queue with a new environment; subclasses override it as they do `OperationQueue`'s.
  public override init() {
    let environment = OperationEnvironment()
    settings = Locked(Settings(environment: environment))
    delegates = environment.delegates
    super.init(executor: DefaultExecutor.forQueue())
    if type(of: self) == AdvancedOperationQueue.self { keepClosures() }
  }

  /// The environment of the operations in this queue.
  public final var environment: OperationEnvironment { settings.withLock { $0.environment } }

  /// Cancels every operation that is in the queue at this moment, with a reason; barriers stay.
  ///
  /// All are marked as cancelled before any starts or any observer is notified. The reason is in
  /// `errors` and `cancellationReason` of each, also in the `cancellationReason` of plain
  /// operations.
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
      // Before it is, so that no later operation misses it.
      delegates.willBeSet()
      settings.withLock { $0.delegate = newValue }
    }
  }

  /// Attaches an observer to each operation that is added from now on.
  ///
  /// It is also attached to what runs in the same environment because of them: children of groups,
  /// prerequisites of conditions, and the operations of scopes in their bodies. Operations that are
  /// no ``AdvancedOperation``, such as a `BlockOperation`, have no observers.
  ///
  /// ```swift
  /// queue.addObserver(BlockObserver(didFinish: { operation, _ in print(operation) }))
  /// ```
  ///
  /// - Parameter observer: Notified of all events, because it is attached before the operation is
  ///   enqueued. Retained by the queue and by its operations.
  /// - Returns: The attachment to the queue. Its `remove()` takes the observer from operations that
  ///   are added later; those that were added before keep it until they have finished.
  @discardableResult
  public final func addObserver(_ observer: any OperationObserver) -> OperationObservation {
    attach(observer, to: \.observers)
  }

  /// Has code run around each async body of the operations that are added from now on.
  ///
  /// It also runs around those that run in the same environment because of them: children of
  /// groups, prerequisites of conditions, attempts of a ``RetryOperation``, the operations of
  /// scopes in their bodies. It doesn't run around an `execute()` override, nor around a closure
  /// that is added to the queue without an operation. Of several interceptors the first is the
  /// outermost.
  ///
  /// ```swift
  /// queue.addInterceptor(Tracing())
  /// ```
  ///
  /// - Parameter interceptor: Retained by the queue and by its operations.
  /// - Returns: The attachment to the queue. Its `remove()` takes the interceptor from operations
  ///   that are added later; those that were added before keep it.
  @discardableResult
  public final func addInterceptor(
    _ interceptor: any OperationInterceptor
  ) -> OperationObservation {
    attach(interceptor, to: \.interceptors)
  }

  /// Adds something to the environment of later operations, from which it can be taken again.
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
/// No method is called with a lock held; each may call every method of queue and operation. Every
/// method does nothing by default. A method with other types is a method of your own, which is
/// never called.
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
  /// The operation is about to become a member: the last chance to add conditions.
  ///
  /// On the thread that adds the operation.
  func operationQueue(_ queue: AdvancedOperationQueue, willAdd operation: AdvancedOperation)
  /// The operation is a member, and its observers were notified of that.
  ///
  /// On the thread that adds the operation.
  func operationQueue(_ queue: AdvancedOperationQueue, didAdd operation: AdvancedOperation)
  /// The operation has ended and its observers were notified of that.
  ///
  /// On the thread that notified them, before dependents start.
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
