import OrderStorage
import OrderWorkflow
import Testing

@Suite("A cancel in the database")
struct CancelStoreTests {
  private let gone = OrderFailure(cancelledBecause: "gone")

  @Test(arguments: Backend.here)
  func `is noted with its first reason, and keeps the order from being confirmed`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop()
    let id = try await store.order(1)
    #expect(try await store.requestCancel(of: id, because: "gone"))
    #expect(try await store.requestCancel(of: id, because: "later"))
    #expect(try await store.order(id)?.cancelReason == "gone")
    await #expect(throws: OrderCancelled(reason: "gone")) { try await store.confirm(id) }
    #expect(try await store.order(id)?.state == .open)
    #expect(try await store.beginRollback(of: id, because: gone))
    #expect(try await store.requestCancel(of: id, because: "later") == false)
  }

  @Test(arguments: Backend.here)
  func `comes too late for an order that is confirmed`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop()
    let id = try await store.order(1)
    try await store.confirm(id)
    #expect(try await store.requestCancel(of: id, because: "gone") == false)
    #expect(try await store.order(id)?.cancelReason == nil)
  }

  @Test(arguments: Backend.here)
  func `is known to the program that takes the order up`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    do {
      let store = try await database.shop()
      let id = try await store.order(1)
      #expect(try await store.requestCancel(of: id, because: "gone"))
    }
    let store = try await database.open()
    #expect(try await store.takeUp().map(\.cancelReason) == ["gone"])
  }
}

@Suite("A row that this version of the program can't read")
struct UnreadableOrderTests {
  @Test(
    arguments: Backend.here,
    [
      "UPDATE step SET key = 'lend' WHERE orderID = '\(OrderID.number(2))'",
      """
      UPDATE orders SET state = 'rolling back', failure = '{"kind":"lent"}'
      WHERE id = '\(OrderID.number(2))'
      """,
    ]
  )
  func `keeps no other order from being taken up, and is taken up itself when it is mended`(
    _ backend: Backend,
    _ change: String
  ) async throws {
    let database = try await backend.database()
    do {
      let store = try await database.shop()
      for number in 1...3 {
        let id = try await store.order(number)
        try await store.begin(.charge, of: id)
      }
    }
    try await database.change(change)
    let store = try await database.open()
    #expect(try await store.takeUp().map(\.id) == [.number(1), .number(3)])
    #expect(Array(store.unreadableOrders.keys) == [.number(2)])
    #expect(try await store.orders(limit: 9).map(\.id) == [.number(3), .number(1)])
    try await database.change(
      """
      UPDATE step SET key = 'charge' WHERE key = 'lend';
      UPDATE orders SET state = 'open', failure = NULL
      """
    )
    #expect(try await store.takeUp().map(\.id).contains(.number(2)))
    #expect(store.unreadableOrders.isEmpty)
  }
}
