import AdvancedOperations
import OrderStorage
import OrderWorkflow
import Testing

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
