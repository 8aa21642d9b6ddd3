/// What undoes the work of a group, in the order of registering: a plain value behind a lock.
struct RollbackList {
  typealias Rollback = @Sendable () async throws -> Void

  /// Where a group that is a child of another one puts what it has registered, once it has
  /// succeeded.
  ///
  /// The outer group gets the place before the end of the inner one is decided: what the outer
  /// group's other children register because of that end comes behind it. It is filled before the
  /// inner group is quiet, so before the outer group looks at it.
  final class Place: Sendable {
    private let rollbacks = Locked<[Rollback]>([])

    func fill(_ rollbacks: [Rollback]) { self.rollbacks.withLock { $0 = rollbacks } }
    func take() -> [Rollback] { rollbacks.withLock { exchange(&$0, with: []) } }
  }

  private enum Entry {
    case rollback(Rollback)
    case place(Place)
  }

  private var entries: [Entry] = []
  /// Those that were taken out to be run, to be released when the group is quiet: a `deinit` may
  /// wait for the group.
  private var taken: [Rollback] = []
  private(set) var isClosed = false
  /// Whether what was taken out is being run, one after the other.
  private(set) var isRunning = false

  /// Keeps what undoes something; returns false, and doesn't, when it would never be run.
  mutating func add(_ rollbacks: [Rollback]) -> Bool {
    if !isClosed { entries += rollbacks.map { .rollback($0) } }
    return !isClosed
  }

  /// Keeps a place for what an inner group hands over; nil when that would never be run.
  mutating func addPlace() -> Place? {
    if isClosed { return nil }
    let place = Place()
    entries.append(.place(place))
    return place
  }

  /// Takes out what is to be run next; nil ends this, and nothing is kept from then on.
  mutating func next() -> Rollback? {
    while let last = entries.popLast() {
      switch last {
      case .rollback(let rollback):
        isRunning = true
        taken.append(rollback)
        return rollback
      case .place(let place): entries += place.take().map { .rollback($0) }
      }
    }
    isClosed = true
    isRunning = false
    return nil
  }

  /// The group is quiet: forgets what was run.
  mutating func forgetTaken() { taken = [] }

  /// Closes the list if there is nothing in it; returns whether it is closed.
  mutating func closeIfEmpty() -> Bool {
    if entries.isEmpty { isClosed = true }
    return isClosed
  }

  /// Closes the list, and takes out everything, in the order of registering.
  mutating func close() -> [Rollback] {
    isClosed = true
    return exchange(&entries, with: []).flatMap { entry in
      switch entry {
      case .rollback(let rollback): [rollback]
      case .place(let place): place.take()
      }
    }
  }
}
