#if PostgreSQL
import OrderWorkflow
import Testing

@testable import OrderStorage

@Suite("A PostgreSQL database that instances share", .enabled(if: Backend.server != nil))
struct SharedDatabaseTests {
  @Test func `leaves an order with an instance that has missed one heartbeat`() async throws {
    let scene = try await SharedScene()
    try await scene.silence(2)
    #expect(try await scene.second.takeOver(limit: 10).isEmpty)
    try await scene.first.begin(.charge, of: scene.id)
    #expect(try await scene.second.order(scene.id)?.holder == "first")
  }

  @Test func `refuses what an instance writes that has missed two heartbeats`() async throws {
    let scene = try await SharedScene()
    try await scene.silence(3)
    #expect(try await scene.second.takeOver(limit: 10).map(\.id) == [scene.id])
    let line = OrderLine(sku: "tea", quantity: 1)
    await #expect(throws: LeaseLost(order: scene.id)) {
      try await scene.first.reserve(line, for: scene.id)
    }
    await #expect(throws: LeaseLost(order: scene.id)) {
      try await Warehouse(scene.first).ship(scene.id, lines: [])
    }
    #expect(try await scene.first.beat() == [scene.id])
    #expect(try await scene.first.tea == 10)
    try await scene.second.reserve(line, for: scene.id)
    #expect(try await scene.first.order(scene.id)?.holder == "second")
  }

  @Test func `gives an order back once its first holder has let go of it`() async throws {
    let scene = try await SharedScene()
    try await scene.silence(3)
    _ = try await scene.second.takeOver(limit: 10)
    _ = try await scene.first.beat()
    try await scene.second.resign()
    #expect(try await scene.first.takeOver(limit: 10).isEmpty)
    scene.first.leave(scene.id)
    #expect(try await scene.first.takeOver(limit: 10).map(\.id) == [scene.id])
    try await scene.first.begin(.charge, of: scene.id)
    await #expect(throws: LeaseLost(order: scene.id)) {
      try await scene.second.begin(.charge, of: scene.id)
    }
  }

  @Test func `gives each order to one of the instances that want it`() async throws {
    let scene = try await SharedScene()
    for number in 2...40 { _ = try await scene.first.order(number) }
    try await scene.first.resign()
    let third = try await scene.schema.open("third")
    async let some = scene.second.takeOver(limit: 40).map(\.id)
    async let others = third.takeOver(limit: 40).map(\.id)
    let taken = try await some + others
    #expect(Set(taken).count == taken.count)
    #expect(taken.count == 40)
  }

  @Test func `wakes what waits for an order of another instance`() async throws {
    let scene = try await SharedScene()
    let signals = scene.second.signals(of: scene.id)
    try await scene.first.confirm(scene.id)
    for await _ in signals {
      if try await scene.second.order(scene.id)?.state == .confirmed { return }
    }
    Issue.record("The stream has ended.")
  }

  @Test func `has one bucket of requests for all instances`() async throws {
    let scene = try await SharedScene()
    let period = Duration.seconds(1_000_000)
    #expect(try await scene.first.takeTokens(7, capacity: 10, period: period) == 7)
    #expect(try await scene.second.takeTokens(7, capacity: 10, period: period) == 3)
    #expect(try await scene.first.takeTokens(1, capacity: 10, period: period) == 0)
  }

  @Test func `is found again after all of its connections were lost`() async throws {
    let scene = try await SharedScene()
    let pid = try await scene.second.pool.read {
      try $0.execute("SELECT pg_backend_pid()").value
    }
    try await scene.first.pool.write { connection in
      try connection.execute("SELECT pg_terminate_backend($1::int)", [pid])
    }
    for _ in 1...4 { #expect(try await scene.second.items().count == 1) }
  }

  @Test func `says what is wrong, with the code of the error`() async throws {
    let scene = try await SharedScene()
    let item = Item(sku: "air", name: "Air", price: Money(0), stock: 1)
    let error = await #expect(throws: PostgreSQLError.self) { try await scene.first.deliver(item) }
    #expect(error?.sqlState == "23514")
    #expect(error?.isConnectionLost == false)
    #expect(error?.description.contains("price") == true)
  }

  @Test func `takes a value for nothing but a value`() async throws {
    let scene = try await SharedScene()
    let name = "'); DROP TABLE item; --"
    try await scene.first.deliver(Item(sku: name, name: name, price: Money(1), stock: 1))
    #expect(try await scene.second.items().map(\.sku).contains(name))
  }
}
#endif
