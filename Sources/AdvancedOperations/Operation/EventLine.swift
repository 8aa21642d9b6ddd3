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
    case willFinish([any Error])
    case didFinish([any Error], OperationOutcome)
    /// Did-finish for one who came late.
    case lateFinish(any OperationObserver, [any Error])
  }

  private var items: [Item] = []
  private var next = 0
  private(set) var isDelivering = false
  /// Whether telling has to wait until a sweep over many operations is through.
  var isHeldForSweep = false

  var isEmpty: Bool { next == items.count }

  mutating func append(_ item: Item) { items.append(item) }

  /// Makes the caller the one who delivers, if there is something and nobody does.
  mutating func beginDelivery() -> Bool {
    guard !isDelivering, !isHeldForSweep, !isEmpty else { return false }
    isDelivering = true
    return true
  }

  /// The next item; nil ends the delivery.
  mutating func nextItem() -> Item? {
    guard next < items.count else {
      items = []
      next = 0
      isDelivering = false
      return nil
    }
    defer { next += 1 }
    return items[next]
  }
}
