import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A store that forgets everything with its process: for tests.
///
/// Its methods never suspend. It lives on when a simulated process dies, as a database does.
public final class InMemoryOrderStore: OrderStore {
  struct Contents {
    var items: [String: Item]
    var orders: [OrderID: Order] = [:]
    var sequence: [OrderID] = []
    var keys: [String: OrderID] = [:]
    var values: [OrderID: [String: String]] = [:]
    var reservations: [OrderID: [String: Int]] = [:]
  }

  let contents: Mutex<Contents>

  /// Creates a store.
  ///
  /// - Parameter items: What the shop sells.
  public init(items: [Item]) {
    contents = Mutex(
      Contents(items: Dictionary(items.map { ($0.sku, $0) }) { first, _ in first })
    )
  }

  /// What the shop sells, in the order of the numbers.
  public func items() -> [Item] {
    contents.withLock { $0.items.values.sorted { $0.sku < $1.sku } }
  }

  /// Does nothing: memory takes all.
  public func probe() {}

  /// Keeps an order, unless there is one with the same key.
  public func accept(_ draft: OrderDraft, id: OrderID, key: String) throws -> Submission {
    try contents.withLock { contents in
      if let known = contents.keys[key], let order = contents.orders[known] {
        return Submission(order: order, isNew: false)
      }
      if contents.orders[id] != nil { throw OrderIDTaken(id: id) }
      // Time is the number of the order, so that runs are equal.
      let time = Date(timeIntervalSince1970: Double(contents.sequence.count))
      let order = Order(id: id, key: key, draft: draft, acceptedAt: time)
      contents.orders[id] = order
      contents.keys[key] = id
      contents.sequence.append(id)
      return Submission(order: order, isNew: true)
    }
  }

  /// The order with an ID.
  public func order(_ id: OrderID) -> Order? { contents.withLock { $0.orders[id] } }

  /// The order with a key.
  public func order(forKey key: String) -> Order? {
    contents.withLock { contents in contents.keys[key].flatMap { contents.orders[$0] } }
  }

  /// The latest orders, the last accepted first.
  public func orders(limit: Int) -> [Order] {
    contents.withLock { contents in
      contents.sequence.suffix(max(limit, 0)).reversed().compactMap { contents.orders[$0] }
    }
  }

  /// Orders that are rolled back or stuck while their card may be charged, the first accepted first.
  public func unsettledOrders(limit: Int) -> [Order] {
    contents.withLock { contents in
      let orders = contents.sequence.compactMap { contents.orders[$0] }
      return Array(orders.filter(\.isUnsettled).prefix(max(limit, 0)))
    }
  }

  /// Orders that aren't final, the first accepted first.
  public func takeUp() -> [Order] {
    contents.withLock { contents in
      for (id, order) in contents.orders where order.isUnsettled {
        if let failure = order.state.failure { contents.orders[id]?.state = .rollingBack(failure) }
      }
      return contents.sequence.compactMap { contents.orders[$0] }.filter { !$0.state.isFinal }
    }
  }
}

extension Order {
  /// Whether the order is rolled back or stuck while its card may be charged.
  fileprivate var isUnsettled: Bool {
    switch state {
    case .rollingBack, .stuck:
      steps.contains { $0.key == OrderStep.charge.key && $0.state != .undone }
    case .open, .confirmed, .failed, .cancelled: false
    }
  }
}
