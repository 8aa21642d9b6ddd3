import Synchronization

/// Objects whose properties can be observed, and whose overrides report their changes.
///
/// What Foundation's key-value observing does on Apple's systems, as far as operations need it.
///
/// ```swift
/// let token = queue.observe(\.operationCount) { queue, _ in
///   print("\(queue.operationCount) to do")
/// }
/// ```
public protocol KeyValueObservable: AnyObject, Sendable {}

extension Operation: KeyValueObservable {
  /// Announces that a property of the operation is about to change.
  ///
  /// - Parameter key: `isExecuting`, `isFinished`, `isReady` or any other.
  public func willChangeValue(forKey key: String) {}

  /// Reports that a property of the operation has changed.
  ///
  /// Subclasses that keep their own `isFinished` or `isReady` call this after it changed: the end
  /// and the readiness of such an operation are found by looking at these properties now. Reporting
  /// the end early or twice does no harm.
  ///
  /// - Parameter key: `isExecuting`, `isFinished`, `isReady` or any other. With a property of the
  ///   subclass, `state` for instance, both are looked at, since they may depend on it.
  public func didChangeValue(forKey key: String) {
    switch key {
    case "isFinished", "finished": finishIfOverridden()
    case "isReady", "ready": lookForReadiness()
    case "isExecuting", "executing", "isCancelled", "cancelled": break
    default: lookAgain()
    }
    valuesMayHaveChanged()
  }

  /// Has the readiness of a parked operation looked at again.
  private func lookForReadiness() {
    guard !isLayered else { return }
    withLinks { $0.scheduler }?.reoffered(self)
  }

  fileprivate func lookAgain() {
    finishIfOverridden()
    lookForReadiness()
  }

  final var valueObservers: ValueObservers? {
    guard wasObserved else { return nil }
    return withLinks { $0.extra?.valueObservers }
  }

  fileprivate final func makeValueObservers() -> ValueObservers {
    let observers = withLinks { links in
      let extra = links.makeExtra()
      let observers = extra.valueObservers ?? ValueObservers()
      extra.valueObservers = observers
      return observers
    }
    let isFirst = !isObserved.exchange(true, ordering: .acquiringAndReleasing)
    if isFirst { for dependency in dependencies { readinessMayFollow(dependency) } }
    return observers
  }

  /// Has an observed operation looked at when a dependency finishes, which may make it ready.
  final func readinessMayFollow(_ dependency: Operation) {
    guard dependency !== self, let observers = valueObservers else { return }
    observers.keep(dependency.watchEnd { [weak self] _ in self?.valuesMayHaveChanged() })
  }
}

extension OperationQueue: KeyValueObservable {}

extension KeyValueObservable {
  /// Announces that a property is about to change.
  ///
  /// - Parameter keyPath: The property.
  public func willChangeValue<Value>(for keyPath: KeyPath<Self, Value>) {
    observers?.announce(keyPath, of: self)
  }

  /// Reports that a property has changed.
  ///
  /// A key path to an override differs from one to what it overrides, so the operation is simply
  /// looked at again, whichever it is.
  ///
  /// - Parameter keyPath: The property.
  public func didChangeValue<Value>(for keyPath: KeyPath<Self, Value>) {
    (self as? Operation)?.lookAgain()
    observers?.look(at: self)
  }

  /// Calls a closure whenever a property has another value than before.
  ///
  /// ```swift
  /// let token = operation.observe(\.isFinished, options: .new) { operation, change in
  ///   print("\(operation): finished \(change.newValue ?? false)")
  /// }
  /// ```
  ///
  /// Values that can't be compared count as changed whenever anything about the object has changed.
  ///
  /// The thread that makes a change calls the observers before it goes on. When another thread is
  /// just calling the same observer, for a change of its own, the first one doesn't wait: the other
  /// thread calls the observer again when it has returned. Therefore a wait promises this about
  /// observers:
  ///
  /// - When a wait for an operation ends, an observer of its end may not have been called yet: a
  ///   wait that begins at that moment returns at once, also when the observer itself begins it.
  /// - When the wait for a whole queue ends, observers of the end of each operation have been
  ///   called and have returned, unless another thread was calling them, because it cancelled the
  ///   operation at that moment for example.
  ///
  /// Work for which others have to wait belongs into an operation or a completion block.
  ///
  /// - Parameters:
  ///   - keyPath: The property.
  ///   - options: Which values the handler gets, and when it is called.
  ///   - changeHandler: Called after a change on the thread that made it, or on one that is calling
  ///     it for an earlier change; one call at a time, without a lock held.
  /// - Returns: Ends the observation when it is invalidated or released.
  public func observe<Value>(
    _ keyPath: KeyPath<Self, Value>,
    options: ObservingOptions = [],
    changeHandler: @escaping @Sendable (Self, ObservedChange<Value>) -> Void
  ) -> ObservationToken {
    guard let observers = makeObservers() else { return ObservationToken {} }
    let record = KeyPathObserver(self, keyPath, options, changeHandler)
    observers.add(record)
    if options.contains(.initial) { record.tellInitial(self) }
    // Otherwise a change between the first look and now would not be reported.
    record.look(at: self)
    return ObservationToken { [weak observers] in observers?.remove(record) }
  }

  private var observers: ValueObservers? {
    (self as? Operation)?.valueObservers ?? (self as? OperationQueue)?.valueObservers
  }

  private func makeObservers() -> ValueObservers? {
    (self as? Operation)?.makeValueObservers() ?? (self as? OperationQueue)?.valueObservers
  }
}

/// The change of an observed property, as its observer gets it.
///
/// ```swift
/// let token = operation.observe(\.queuePriority, options: [.old, .new]) { _, change in
///   if let old = change.oldValue, let new = change.newValue { print("\(old) → \(new)") }
/// }
/// ```
public struct ObservedChange<Value> {
  /// The value before the change; nil without the option ``ObservingOptions/old``.
  public var oldValue: Value?
  /// The value after the change; nil without the option ``ObservingOptions/new``, and in a call
  /// that comes before the change.
  public var newValue: Value?
}

extension ObservedChange: Sendable where Value: Sendable {}

/// Which values an observer of a property gets, and when it is called.
public struct ObservingOptions: OptionSet, Sendable {
  /// The bits.
  public let rawValue: Int
  /// Creates options from bits.
  public init(rawValue: Int) { self.rawValue = rawValue }
  /// The value after the change.
  public static let new = ObservingOptions(rawValue: 1)
  /// The value before the change.
  public static let old = ObservingOptions(rawValue: 2)
  /// A call at once, with the value at that time.
  public static let initial = ObservingOptions(rawValue: 4)
  /// A call also before each change that is announced with `willChangeValue(for:)` and the same key
  /// path.
  public static let prior = ObservingOptions(rawValue: 8)
}

/// The observation of a property, until it is invalidated or this token is released.
///
/// ```swift
/// let token = operation.observe(\.isCancelled) { operation, _ in print(operation) }
/// operation.cancel()
/// token.invalidate()
/// ```
public final class ObservationToken: Sendable {
  private let end: RemovableClosure<@Sendable () -> Void>

  init(_ end: @escaping @Sendable () -> Void) { self.end = RemovableClosure(end) }

  deinit { invalidate() }

  /// Ends the observation; a call that is being made goes on.
  ///
  /// Doing so again changes nothing.
  public func invalidate() { end.take()?.call() }
}
