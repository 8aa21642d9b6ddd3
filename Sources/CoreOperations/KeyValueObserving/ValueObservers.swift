import Synchronization

/// The observers of one object's properties.
///
/// Observation works by reading. Whenever a property may have changed, each observed property is read, and
/// its observer is called if the value differs from the last value. So it doesn't matter whether a property
/// is overridden, and an object without observers pays for one load.
final class ValueObservers: Sendable {
  private let count = Atomic<Int>(0)
  private let records = Locked<[(id: ObjectIdentifier, record: any ValueObserver)]>([])

  /// The watches of an operation's dependencies, which may live longer; nil once the operation has ended.
  private let watches = Locked<[EndWatch]?>([])

  deinit { removeWatches() }

  /// Keeps a watch until the operation ends.
  func keep(_ watch: EndWatch) {
    let isKept = watches.withLock { watches in
      watches?.append(watch)
      return watches != nil
    }
    if !isKept { watch.remove() }
  }

  /// Removes the watches, because a dependency can't change the properties of an operation that has ended.
  func removeWatches() {
    let old = watches.withLock { exchange(&$0, with: nil) }
    for watch in old ?? [] { watch.remove() }
  }

  /// A Boolean value that indicates whether there is no observer.
  var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

  func add(_ record: any ValueObserver) {
    records.withLock { $0.append((ObjectIdentifier(record), record)) }
    count.add(1, ordering: .acquiringAndReleasing)
  }

  func remove(_ record: any ValueObserver) {
    let removed = records.withLock { records -> (any ValueObserver)? in
      guard let index = records.firstIndex(where: { $0.id == ObjectIdentifier(record) }) else {
        return nil
      }
      return records.remove(at: index).record
    }
    if removed != nil { count.subtract(1, ordering: .acquiringAndReleasing) }
  }

  /// Checks all observed properties, in the order in which their observers were added.
  func look(at object: AnyObject) {
    if isEmpty { return }
    for (_, record) in records.withLock({ $0 }) { record.look(at: object) }
  }

  /// Notifies observers that a property is about to change.
  func announce(_ keyPath: AnyKeyPath, of object: AnyObject) {
    if isEmpty { return }
    for (_, record) in records.withLock({ $0 }) { record.announce(keyPath, of: object) }
  }
}

/// The observer of one property.
protocol ValueObserver: AnyObject, Sendable {
  func look(at object: AnyObject)
  func announce(_ keyPath: AnyKeyPath, of object: AnyObject)
}

final class KeyPathObserver<Object: AnyObject, Value>: ValueObserver, @unchecked Sendable {
  // Sendable: `last` has a lock, and the handler is Sendable. The key path is immutable, and the client is
  // responsible for its arguments.
  private let keyPath: KeyPath<Object, Value>
  private let options: ObservingOptions
  private let handler: @Sendable (Object, ObservedChange<Value>) -> Void
  /// The last value that was reported, and whether a thread is checking; a second thread makes that thread
  /// check again.
  private let last: Locked<Last>

  private struct Last {
    var value: LockedBox<Value>
    var isLooking = false
    var looksAgain = false
  }

  init(
    _ object: Object,
    _ keyPath: KeyPath<Object, Value>,
    _ options: ObservingOptions,
    _ handler: @escaping @Sendable (Object, ObservedChange<Value>) -> Void
  ) {
    self.keyPath = keyPath
    self.options = options
    self.handler = handler
    last = Locked(Last(value: LockedBox(object[keyPath: keyPath])))
  }

  func tellInitial(_ object: Object) {
    let value = last.withLock { $0.value }
    handler(
      object,
      ObservedChange(oldValue: nil, newValue: options.contains(.new) ? value.value : nil)
    )
  }

  /// Reads the property, and calls the observer if the value has changed.
  ///
  /// Only one thread at a time does this, so that values are reported in their order. A value that was read
  /// before a change is never reported after the change.
  func look(at object: AnyObject) {
    guard let object = object as? Object else { return }
    let isTaken = last.withLock { last in
      if last.isLooking { last.looksAgain = true }
      defer { last.isLooking = true }
      return last.isLooking
    }
    if isTaken { return }
    repeat { compare(object) } while mustLookAgain()
  }

  private func mustLookAgain() -> Bool {
    last.withLock { last in
      last.isLooking = last.looksAgain
      defer { last.looksAgain = false }
      return last.looksAgain
    }
  }

  private func compare(_ object: Object) {
    let value = LockedBox(object[keyPath: keyPath])
    let old = last.withLock { last in
      defer { last.value = value }
      return last.value
    }
    if Self.areEqual(old.value, value.value) { return }
    handler(
      object,
      ObservedChange(
        oldValue: options.contains(.old) ? old.value : nil,
        newValue: options.contains(.new) ? value.value : nil
      )
    )
  }

  func announce(_ keyPath: AnyKeyPath, of object: AnyObject) {
    guard options.contains(.prior), keyPath == self.keyPath, let object = object as? Object else {
      return
    }
    let value = last.withLock { $0.value }
    handler(
      object,
      ObservedChange(oldValue: options.contains(.old) ? value.value : nil, newValue: nil)
    )
  }

  /// Returns whether two values are equal; values that can't be compared never are.
  private static func areEqual(_ a: Value, _ b: Value) -> Bool {
    func compare<T: Equatable>(_ a: T) -> Bool { (b as? T).map { a == $0 } ?? false }
    guard let a = a as? any Equatable else { return false }
    return compare(a)
  }
}

extension Operation {
  /// A Boolean value that indicates whether a property was ever observed.
  ///
  /// Otherwise this read is the only cost of a change.
  package final var wasObserved: Bool { isObserved.load(ordering: .acquiring) }

  /// Notifies observers of properties, if there are any.
  ///
  /// Call this method without a lock.
  package final func valuesMayHaveChanged() { valueObservers?.look(at: self) }
}
