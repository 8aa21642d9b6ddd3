import AdvancedOperations

/// The store as the operations of orders see it: what fails is repeated for a while.
///
/// A database that is busy, or whose disk is full, is no failure of an order. When the time is over
/// too, ``StoreUnavailable`` is thrown, and the order is left as it is: see ``OrderDesk``.
struct PatientStore: OrderStore {
  let store: any OrderStore
  let trouble: StoreTrouble
  let options: OrderDesk.Options
  let clock: OperationClock

  /// Calls the store until it has done it, or has refused it.
  private func repeating<Value>(_ body: () async throws -> Value) async throws -> Value {
    let deadline = clock.now + options.storePatience
    var (delay, call): (Duration, Int?) = (options.firstStoreDelay, nil)
    defer { if let call { trouble.isOver(call) } }
    while true {
      do {
        return try await body()
      } catch  where Self.isAnswer(error) {
        throw error
      } catch {
        let reason = "\(error)"
        call = trouble.failed(call, because: reason)
        guard clock.now + delay < deadline, !trouble.isGivenUp else {
          throw StoreUnavailable(reason: reason)
        }
        try await clock.sleep(for: delay)
        delay = min(delay * 2, options.longestStoreDelay)
      }
    }
  }

  /// Whether an error is what the store has to say, and no trouble of its own.
  static func isAnswer(_ error: any Error) -> Bool {
    switch error {
    case is OutOfStock, is RollbackHasBegun, is LeaseLost, is OrderIDTaken: true
    case is OrderCancelled, is StoreContradiction, is CancellationError: true
    case is OrderUnreadable: true
    default: false
    }
  }

  // MARK: As the store does it

  func items() async throws -> [Item] { try await repeating { try await store.items() } }

  func probe() async throws { try await repeating { try await store.probe() } }

  func begin(_ step: OrderStep, of order: OrderID) async throws {
    try await repeating { try await store.begin(step, of: order) }
  }

  func value(of step: OrderStep, of order: OrderID) async throws -> String? {
    try await repeating { try await store.value(of: step, of: order) }
  }

  func record(_ value: String, of step: OrderStep, of order: OrderID) async throws {
    try await repeating { try await store.record(value, of: step, of: order) }
  }

  func reserve(_ line: OrderLine, for order: OrderID) async throws {
    try await repeating { try await store.reserve(line, for: order) }
  }

  func confirm(_ order: OrderID) async throws {
    try await repeating { try await store.confirm(order) }
  }

  func beginRollback(of order: OrderID, because failure: OrderFailure) async throws -> Bool {
    try await repeating { try await store.beginRollback(of: order, because: failure) }
  }

  func release(_ line: OrderLine, of order: OrderID) async throws {
    try await repeating { try await store.release(line, of: order) }
  }

  func undone(_ step: OrderStep, of order: OrderID) async throws {
    try await repeating { try await store.undone(step, of: order) }
  }

  func finishRollback(of order: OrderID, problems: [String]) async throws {
    try await repeating { try await store.finishRollback(of: order, problems: problems) }
  }

  func order(_ id: OrderID) async throws -> Order? {
    try await repeating { try await store.order(id) }
  }

  func order(forKey key: String) async throws -> Order? {
    try await repeating { try await store.order(forKey: key) }
  }

  func orders(limit: Int) async throws -> [Order] {
    try await repeating { try await store.orders(limit: limit) }
  }

  func unsettledOrders(limit: Int) async throws -> [Order] {
    try await repeating { try await store.unsettledOrders(limit: limit) }
  }

  func takeUp() async throws -> [Order] { try await repeating { try await store.takeUp() } }

  var unreadableOrders: [OrderID: String] { store.unreadableOrders }

  func requestCancel(of order: OrderID, because reason: String) async throws -> Bool {
    try await repeating { try await store.requestCancel(of: order, because: reason) }
  }

  func accept(_ draft: OrderDraft, id: OrderID, key: String) async throws -> Submission {
    try await repeating { try await store.accept(draft, id: id, key: key) }
  }
}
