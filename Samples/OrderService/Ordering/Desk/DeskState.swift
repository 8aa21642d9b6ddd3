import AdvancedOperations

/// What a desk remembers.
struct DeskState {
  /// An order that waits until the store does what it is to do.
  struct Recovery {
    let operation: AdvancedOperation
    /// The store's error.
    let reason: String
    /// Why the order was cancelled meanwhile, or before.
    var cancel: OrderCancelled?
  }

  /// An order that the store keeps, or is about to, and whose operation isn't there yet.
  struct Acceptance {
    /// Why the order was cancelled meanwhile.
    var cancel: OrderCancelled?
    /// What waits for the operation.
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  /// The orders that go on, and the last of those that did.
  private(set) var runs: [OrderID: OrderRun] = [:]
  private(set) var openCount = 0
  var isDraining = false
  /// How many orders the closing desk has left to the next program.
  private(set) var interruptedCount = 0
  /// The orders that are taken up again after a while.
  var recoveries: [OrderID: Recovery] = [:]
  var acceptances: [OrderID: Acceptance] = [:]
  /// Since an order could not be kept: why, and what finds out when one can.
  var refusedOrder: (reason: String, probe: AdvancedOperation)?
  /// Says again and again that this instance lives, and listens to the others.
  var keepers: [AdvancedOperation] = []
  /// Gets the orders that can't be read.
  var onUnreadable: (@Sendable (OrderID, String) -> Void)?
  private var unreadable: [OrderID: String] = [:]
  /// Those that are over, the first of them first.
  private var past: ArraySlice<OrderID> = []

  /// Makes room for an order; returns why there is none.
  mutating func admit(limit: Int) -> OrderRefusal? {
    if isDraining { return .draining(retryAfter: .seconds(5)) }
    if openCount >= limit { return .full(open: openCount, retryAfter: .seconds(1)) }
    openCount += 1
    return nil
  }

  /// Takes an order that was accepted before, for which there need not be room.
  mutating func admitKnown() { openCount += 1 }

  /// An order that was admitted came to nothing, or wasn't new.
  mutating func withdrawn() { openCount -= 1 }

  /// Keeps a cancel for the operation that an order is about to get; returns whether it is.
  mutating func keepCancel(_ id: OrderID, _ cancel: OrderCancelled) -> Bool {
    if recoveries[id] != nil { recoveries[id]?.cancel = cancel }
    if acceptances[id] != nil { acceptances[id]?.cancel = cancel }
    return recoveries[id] != nil || acceptances[id] != nil
  }

  /// Some orders can't be read; returns those of which that is new.
  mutating func found(unreadable: [OrderID: String]) -> [OrderID: String] {
    let new = unreadable.filter { self.unreadable[$0.key] != $0.value }
    self.unreadable = unreadable
    return new
  }

  mutating func began(_ run: OrderRun) {
    // One that another instance had for a while goes on here.
    past.removeAll { $0 == run.order.id }
    runs[run.order.id] = run
  }

  /// An order is over; returns what isn't remembered any longer, to be released without a lock.
  mutating func ended(_ id: OrderID, isInterrupted: Bool, remembered: Int) -> [OrderRun] {
    openCount -= 1
    if isInterrupted, isDraining { interruptedCount += 1 }
    past.append(id)
    var forgotten: [OrderRun] = []
    while past.count > remembered, let first = past.popFirst() {
      if let run = runs.removeValue(forKey: first) { forgotten.append(run) }
    }
    return forgotten
  }
}
