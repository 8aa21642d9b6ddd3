/// What is to be told about one operation, in order; one thread at a time does the telling.
///
/// A plain value behind the operation's lock. Whoever adds an item while nobody delivers, delivers
/// until the line is empty; otherwise the one who delivers takes it along. So items never overlap,
/// and a call from inside a callback never nests.
struct EventLine {
  enum Item {
    case enqueued
    case started
    /// Look again whether to execute.
    case launch
    case produced(AdvancedOperation)
    case progress(OperationProgressUpdate)
    case cancelled([any Error], callsHook: Bool)
    /// Did-finish follows, behind what is produced meanwhile.
    case willFinish([any Error], OperationOutcome)
    case didFinish([any Error], OperationOutcome)
    /// Did-finish for one who came late.
    case lateFinish(any OperationObserver, [any Error])
  }

  private var items: [Item] = []
  private var next = 0
  private(set) var isDelivering = false
  /// The operation whose delivery on the same thread this one is made in.
  private(set) unowned var outer: AdvancedOperation?
  /// Whether telling has to wait until a sweep over many operations is through.
  var isHeldForSweep = false

  var isEmpty: Bool { next == items.count }

  mutating func append(_ item: Item) { items.append(item) }

  /// Makes the caller the one who delivers, if there is something and nobody does.
  mutating func beginDelivery(inside outer: AdvancedOperation?) -> Bool {
    guard !isDelivering, !isHeldForSweep, !isEmpty else { return false }
    isDelivering = true
    self.outer = outer
    return true
  }

  /// The next item; nil ends the delivery.
  ///
  /// A launch comes after all that is to be told: it looks at what that led to. What was taken is not
  /// kept, so that nobody's object is released under the lock.
  mutating func nextItem() -> Item? {
    guard !isEmpty, !isHeldForSweep else {
      isDelivering = false
      outer = nil
      return nil
    }
    if case .launch = items[next], next + 1 < items.count {
      items.append(items[next])
      next += 1
    }
    let item = items[next]
    items[next] = .launch
    next += 1
    if isEmpty {
      items = []
      next = 0
    }
    return item
  }
}
