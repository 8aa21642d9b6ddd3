import OrderWorkflow
import Synchronization

/// A store that fails while a test says so, as a database does whose disk is full.
struct FlakyStore: OrderStore {
  struct DiskFull: Error, CustomStringConvertible {
    var description: String { "disk full" }
  }

  /// Whether a store fails, and what it was asked for.
  final class Switch: Sendable {
    private let state = Mutex(false)

    var isFailing: Bool {
      get { state.withLock { $0 } }
      set { state.withLock { $0 = newValue } }
    }

    func check() throws { if isFailing { throw DiskFull() } }
  }

  let store: InMemoryOrderStore
  let failure: Switch

  func items() throws -> [Item] {
    try failure.check()
    return store.items()
  }

  func probe() throws { try failure.check() }

  func order(_ id: OrderID) -> Order? { store.order(id) }
  func order(forKey key: String) -> Order? { store.order(forKey: key) }
  func orders(limit: Int) -> [Order] { store.orders(limit: limit) }
  func unsettledOrders(limit: Int) -> [Order] { store.unsettledOrders(limit: limit) }
  func takeUp() -> [Order] { store.takeUp() }

  func requestCancel(of order: OrderID, because reason: String) throws -> Bool {
    try failure.check()
    return store.requestCancel(of: order, because: reason)
  }

  func accept(_ draft: OrderDraft, id: OrderID, key: String) throws -> Submission {
    try failure.check()
    return try store.accept(draft, id: id, key: key)
  }

  func begin(_ step: OrderStep, of order: OrderID) throws {
    try failure.check()
    try store.begin(step, of: order)
  }

  func value(of step: OrderStep, of order: OrderID) -> String? {
    store.value(of: step, of: order)
  }

  func record(_ value: String, of step: OrderStep, of order: OrderID) throws {
    try failure.check()
    try store.record(value, of: step, of: order)
  }

  func reserve(_ line: OrderLine, for order: OrderID) throws {
    try failure.check()
    try store.reserve(line, for: order)
  }

  func confirm(_ order: OrderID) throws {
    try failure.check()
    try store.confirm(order)
  }

  func beginRollback(of order: OrderID, because failure: OrderFailure) throws -> Bool {
    try self.failure.check()
    return store.beginRollback(of: order, because: failure)
  }

  func release(_ line: OrderLine, of order: OrderID) throws {
    try failure.check()
    store.release(line, of: order)
  }

  func undone(_ step: OrderStep, of order: OrderID) throws {
    try failure.check()
    store.undone(step, of: order)
  }

  func finishRollback(of order: OrderID, problems: [String]) throws {
    try failure.check()
    store.finishRollback(of: order, problems: problems)
  }
}
