import AdvancedOperations
import GRDB
import OrderWorkflow
import Testing

@testable import OrderStorage

@Suite("A desk with a database")
struct DeskOnDatabaseTests {
  let provider = UnreliableProvider()

  private func desk(_ store: any ShopStore) -> OrderDesk {
    var options = OrderDesk.Options()
    options.firstDelay = .milliseconds(1)
    options.longestDelay = .milliseconds(5)
    options.breakerCooldown = .milliseconds(5)
    options.providerRequests = 10_000
    return OrderDesk(
      store: store,
      payments: provider,
      shipping: Warehouse(store),
      options: options
    )
  }

  /// Places orders at the same time, and cancels each fifth of them.
  private func place(_ numbers: ClosedRange<Int>, at desk: OrderDesk) async throws {
    try await withThrowingTaskGroup { group in
      for number in numbers {
        group.addTask {
          let order = try await desk.submit(.tea(1 + number % 3), key: "\(number)").order
          if number % 5 == 0 { desk.cancel(order.id, because: "the client hung up") }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test(arguments: Backend.here)
  func `brings all orders to an end, and its books add up`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop(tea: 60)
    let desk = desk(store)
    try await desk.open()
    try await place(1...60, at: desk)
    await desk.drain(within: .seconds(600))
    let audit = try await database.audit { provider.charges }
    #expect(audit.mistakes == [])
    #expect(audit.isSettled)
    #expect(audit.counts.values.reduce(0, +) == 60)
    #expect(audit.causes["outOfStock"] != nil)
  }

  /// What somebody does to the database by hand, and what becomes of an order and of the next one.
  @Test(arguments: Backend.here)
  func `an order that was reopened manually is confirmed again`(_ backend: Backend) async throws {
    let database = try await backend.database()
    let id = try await order(in: try await database.shop())
    try await database.change("UPDATE orders SET state = 'open'")
    let store = try await database.open()
    let desk = desk(store)
    try await desk.open()
    await desk.drain(within: .seconds(600))
    #expect(try await store.order(id)?.state == .confirmed)
    #expect(try await database.audit { provider.charges }.mistakes == [])
  }

  @Test(arguments: Backend.here)
  func `an order that the tables contradict fails, and isn't trouble of the store`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let id = try await order(in: try await database.shop())
    // Its items are set aside, and nobody knows of the step that did so.
    try await database.change(
      "UPDATE orders SET state = 'open'; DELETE FROM step WHERE key LIKE 'reserve%'"
    )
    let store = try await database.open()
    let desk = desk(store)
    try await desk.open()
    let other = try await desk.submit(.tea(1), key: "other").order.id
    _ = try await desk.outcome(of: id, within: .seconds(600))
    #expect(desk.storeTrouble == nil)
    await desk.drain(within: .seconds(600))
    let failure = try #require(try await store.order(id)?.state.failure)
    #expect(failure.reason.contains("contradicts"))
    #expect(try await store.order(other)?.state == .confirmed)
  }

  @Test func `an order whose parcel the tables refuse fails, and its card is refunded`()
    async throws
  {
    let database = try TemporaryDatabase()
    let store = try await database.shop()
    try await store.pool.write { database in
      try database.execute(
        sql: """
          CREATE TRIGGER strike BEFORE INSERT ON parcel WHEN new.number IS NOT NULL
          BEGIN SELECT RAISE(ABORT, 'no parcel today'); END
          """
      )
    }
    let desk = desk(store)
    try await desk.open()
    let id = try await desk.submit(.tea(1), key: "first").order.id
    let order = try #require(try await desk.outcome(of: id, within: .seconds(600)))
    #expect(desk.storeTrouble == nil)
    let failure = try #require(order.state.failure)
    #expect(order.state.name == "failed" && failure.step == "ship", "\(order.state)")
    #expect(failure.reason.contains("no parcel today"))
    #expect(provider.charges.map(\.status) == ["refunded"])
    #expect(try await store.tea == 10)
    await desk.drain(within: .seconds(600))
  }

  /// An order that was confirmed by a program that has ended.
  private func order(in store: any ShopStore) async throws -> OrderID {
    let desk = desk(store)
    try await desk.open()
    let id = try await desk.submit(.tea(1), key: "first").order.id
    await desk.drain(within: .seconds(600))
    #expect(try await store.order(id)?.state == .confirmed)
    return id
  }

  @Test(arguments: Backend.here)
  func `goes on after it was cut short, and its books add up`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    do {
      let store = try await database.shop(tea: 60)
      let desk = desk(store)
      try await desk.open()
      try await place(1...40, at: desk)
      await desk.drain(within: .zero)
    }
    let store = try await database.open()
    let desk = desk(store)
    try await desk.open()
    try await place(30...60, at: desk)
    await desk.drain(within: .seconds(600))
    let audit = try await database.audit { provider.charges }
    #expect(audit.mistakes == [])
    #expect(audit.isSettled)
    #expect(audit.counts.values.reduce(0, +) == 60)
  }
}
