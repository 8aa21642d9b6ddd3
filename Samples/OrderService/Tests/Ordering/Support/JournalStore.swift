import AdvancedOperationsTesting
import OrderWorkflow

/// A store with one order, of which a death leaves the testing kit's journal and nothing else.
///
/// The steps in the journal are replayed into a new store in memory, with their reservations.
struct JournalStore: OrderStore {
  let journal: InMemoryJournal
  private let store: InMemoryOrderStore
  private let order: OrderID

  init(_ journal: InMemoryJournal, items: [Item], draft: OrderDraft, id: OrderID) throws {
    self.journal = journal
    store = InMemoryOrderStore(items: items)
    order = try store.accept(draft, id: id, key: "key").order.id
    for record in journal.records {
      guard let step = OrderStep(key: record.key), let value = record.value as? String else {
        continue
      }
      switch step {
      case .reserve(let sku):
        for line in draft.lines where line.sku == sku { try store.reserve(line, for: id) }
      case .confirm: try store.confirm(id)
      case .validate, .charge, .ship: try store.record(value, of: step, of: id)
      }
    }
  }

  func record(_ value: String, of step: OrderStep, of order: OrderID) async throws {
    try store.record(value, of: step, of: order)
    try await journal.record(value, for: step.key)
  }

  // MARK: As the store in memory does it

  func items() -> [Item] { store.items() }
  func probe() {}
  func order(_ id: OrderID) -> Order? { store.order(id) }
  func order(forKey key: String) -> Order? { store.order(forKey: key) }
  func orders(limit: Int) -> [Order] { store.orders(limit: limit) }
  /// Also when it is confirmed: its operations take their values from the journal then.
  func unsettledOrders(limit: Int) -> [Order] { store.unsettledOrders(limit: limit) }
  func takeUp() -> [Order] { store.orders(limit: 1) }
  func accept(_ draft: OrderDraft, id: OrderID, key: String) throws -> Submission {
    try store.accept(draft, id: id, key: key)
  }
  func begin(_ step: OrderStep, of order: OrderID) throws { try store.begin(step, of: order) }
  func value(of step: OrderStep, of order: OrderID) -> String? {
    store.value(of: step, of: order)
  }
  func reserve(_ line: OrderLine, for order: OrderID) throws {
    try store.reserve(line, for: order)
  }
  func confirm(_ order: OrderID) throws { try store.confirm(order) }
  func requestCancel(of order: OrderID, because reason: String) -> Bool {
    store.requestCancel(of: order, because: reason)
  }
  func beginRollback(of order: OrderID, because failure: OrderFailure) -> Bool {
    store.beginRollback(of: order, because: failure)
  }
  func release(_ line: OrderLine, of order: OrderID) { store.release(line, of: order) }
  func undone(_ step: OrderStep, of order: OrderID) { store.undone(step, of: order) }
  func finishRollback(of order: OrderID, problems: [String]) {
    store.finishRollback(of: order, problems: problems)
  }
}
