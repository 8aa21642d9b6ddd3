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

  /// Creates a change.
  public init(oldValue: Value?, newValue: Value?) {
    self.oldValue = oldValue
    self.newValue = newValue
  }
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
  private let end: Locked<StoredClosure<@Sendable () -> Void>?>

  init(_ end: @escaping @Sendable () -> Void) { self.end = Locked(StoredClosure(end)) }

  deinit { invalidate() }

  /// Ends the observation; a call that is being made goes on.
  ///
  /// Doing so again changes nothing.
  public func invalidate() { end.withLock { $0.take() }?.call() }
}
