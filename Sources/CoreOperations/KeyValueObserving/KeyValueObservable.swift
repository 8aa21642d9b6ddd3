import Synchronization

/// A type whose properties can be observed, and whose overrides report their changes.
///
/// The protocol provides the part of Foundation's key-value observing on Apple's systems that
/// operations need.
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
  /// - Parameter key: The name of the property: `isExecuting`, `isFinished`, `isReady` or any
  ///   other.
  public func willChangeValue(forKey key: String) {}

  /// Reports that a property of the operation has changed.
  ///
  /// If a subclass overrides `isFinished` or `isReady`, call this method after each change of these
  /// properties. The method reads them. If `isFinished` is true, the operation finishes. If
  /// `isReady` is true, the queue may start the operation. A call without a change doesn't affect
  /// the queue, so an additional call before the change does no harm. Changes of `isExecuting` only
  /// concern observers of the property.
  ///
  /// - Parameter key: The name of the property: `isExecuting`, `isFinished`, `isReady` or any
  ///   other. If the subclass adds the property, such as `state`, the method reads both
  ///   `isFinished` and `isReady`, because they may depend on it.
  public func didChangeValue(forKey key: String) {
    switch key {
    case "isFinished", "finished": finishIfOverridden()
    case "isReady", "ready": lookForReadiness()
    case "isExecuting", "executing", "isCancelled", "cancelled": break
    default: lookAgain()
    }
    valuesMayHaveChanged()
  }

  /// Checks the readiness of a parked operation again.
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

  /// Checks the properties of an observed operation when a dependency finishes, because that may make it
  /// ready.
  final func readinessMayFollow(_ dependency: Operation) {
    guard dependency !== self, let observers = valueObservers else { return }
    observers.keep(dependency.watchEnd { [weak self] _ in self?.valuesMayHaveChanged() })
  }
}

extension OperationQueue: KeyValueObservable {}

extension KeyValueObservable {
  /// Announces that a property is about to change.
  ///
  /// - Parameter keyPath: The key path of the property.
  public func willChangeValue<Value>(for keyPath: KeyPath<Self, Value>) {
    observers?.announce(keyPath, of: self)
  }

  /// Reports that a property has changed.
  ///
  /// A key path to an override differs from a key path to the overridden property. Therefore the
  /// method checks the operation again, whichever key path it receives.
  ///
  /// - Parameter keyPath: The key path of the property.
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
  /// If the values of a property can't be compared, each change of the object counts as a change of
  /// the property.
  ///
  /// The thread that makes a change calls the observers before it continues. If another thread is
  /// calling the same observer for another change, the first thread doesn't wait. The other thread
  /// calls the observer again when the observer has returned. Therefore a wait promises this about
  /// observers:
  ///
  /// - When a wait for an operation ends, an observer of the operation's end may not have been
  ///   called yet. A wait that begins at that moment returns immediately, even if the observer
  ///   itself begins the wait.
  /// - When the wait for a whole queue ends, observers of the end of each operation have been
  ///   called and have returned. The exception is an observer that another thread was calling, for
  ///   example because the thread cancelled the operation at that moment.
  ///
  /// If other code has to wait for work, do the work in an operation or a completion block.
  ///
  /// - Parameters:
  ///   - keyPath: The key path of the property.
  ///   - options: The values that the handler receives, and the times at which it is called.
  ///   - changeHandler: A closure that is called after a change, one call at a time, while no lock
  ///     is held. The calling thread is the thread that made the change, or a thread that is
  ///     calling the closure for an earlier change.
  /// - Returns: A token that ends the observation when it is invalidated or released.
  public func observe<Value>(
    _ keyPath: KeyPath<Self, Value>,
    options: ObservingOptions = [],
    changeHandler: @escaping @Sendable (Self, ObservedChange<Value>) -> Void
  ) -> ObservationToken {
    guard let observers = makeObservers() else { return ObservationToken {} }
    let record = KeyPathObserver(self, keyPath, options, changeHandler)
    observers.add(record)
    if options.contains(.initial) { record.tellInitial(self) }
    // Otherwise a change between the first read and now would not be reported.
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

/// A value that describes the change of an observed property to its observer.
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
  /// before the change.
  public var newValue: Value?
}

extension ObservedChange: Sendable where Value: Sendable {}

/// Options that determine the values that an observer receives, and the times at which it is
/// called.
public struct ObservingOptions: OptionSet, Sendable {
  /// The bits of the options.
  public let rawValue: Int
  /// Creates options from bits.
  public init(rawValue: Int) { self.rawValue = rawValue }
  /// The observer receives the value after the change.
  public static let new = ObservingOptions(rawValue: 1)
  /// The observer receives the value before the change.
  public static let old = ObservingOptions(rawValue: 2)
  /// The observer is called immediately, with the value at that time.
  public static let initial = ObservingOptions(rawValue: 4)
  /// The observer is also called before each change that `willChangeValue(for:)` announces with the
  /// same key path.
  public static let prior = ObservingOptions(rawValue: 8)
}

/// A token that keeps the observation of a property alive until it is invalidated or released.
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

  /// Ends the observation; a call that is being made continues.
  ///
  /// Invalidating the token again changes nothing.
  public func invalidate() { end.take()?.call() }
}
