import OrderWorkflow
import Synchronization

/// A store in memory whose calls are counted, and one of which waits when a test says so.
final class GatedStore: OrderStore {
  private struct State {
    var counts: [String: Int] = [:]
    var held: String?
  }

  private let store = InMemoryOrderStore(items: Bench.items)
  private let state = Mutex(State())
  private let gate = Gate()

  /// How often a call has come.
  func count(_ call: String) -> Int { state.withLock { $0.counts[call, default: 0] } }

  /// From now on, calls of a name wait.
  func hold(_ call: String) {
    gate.close()
    state.withLock { $0.held = call }
  }

  /// They go on.
  func release() { gate.open() }

  private func pass(_ call: String) async {
    let isHeld = state.withLock { state in
      state.counts[call, default: 0] += 1
      return state.held == call
    }
    if isHeld { await gate.pass() }
  }

  func probe() {}

  func items() async -> [Item] {
    await pass("items")
    return store.items()
  }

  func accept(_ draft: OrderDraft, id: OrderID, key: String) async throws -> Submission {
    // It is in the store while the call has not returned.
    let submission = try store.accept(draft, id: id, key: key)
    await pass("accept")
    return submission
  }

  func order(_ id: OrderID) -> Order? { store.order(id) }
  func order(forKey key: String) -> Order? { store.order(forKey: key) }
  func orders(limit: Int) -> [Order] { store.orders(limit: limit) }
  func unsettledOrders(limit: Int) -> [Order] { store.unsettledOrders(limit: limit) }
  func takeUp() -> [Order] { store.takeUp() }

  func requestCancel(of order: OrderID, because reason: String) async -> Bool {
    await pass("request cancel")
    return store.requestCancel(of: order, because: reason)
  }

  func begin(_ step: OrderStep, of order: OrderID) async throws {
    await pass("begin \(step)")
    try store.begin(step, of: order)
  }

  func value(of step: OrderStep, of order: OrderID) -> String? {
    store.value(of: step, of: order)
  }

  func record(_ value: String, of step: OrderStep, of order: OrderID) async throws {
    await pass("record \(step)")
    try store.record(value, of: step, of: order)
  }

  func reserve(_ line: OrderLine, for order: OrderID) async throws {
    await pass("reserve")
    try store.reserve(line, for: order)
  }

  func confirm(_ order: OrderID) async throws {
    await pass("confirm")
    try store.confirm(order)
    await pass("confirmed")
  }

  func beginRollback(of order: OrderID, because failure: OrderFailure) async -> Bool {
    await pass("begin rollback")
    return store.beginRollback(of: order, because: failure)
  }

  func release(_ line: OrderLine, of order: OrderID) { store.release(line, of: order) }
  func undone(_ step: OrderStep, of order: OrderID) { store.undone(step, of: order) }
  func finishRollback(of order: OrderID, problems: [String]) {
    store.finishRollback(of: order, problems: problems)
  }
}
