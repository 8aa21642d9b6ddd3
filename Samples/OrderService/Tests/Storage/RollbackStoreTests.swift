import OrderStorage
import OrderWorkflow
import Testing

@Suite("A rollback in the database")
struct RollbackStoreTests {
  let failure = OrderFailure(kind: .declined, step: "charge", reason: "no money", tree: "charge")

  @Test(arguments: Backend.here)
  func `lets no step of its order go on`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop()
    let id = try await store.order(1)
    #expect(try await store.beginRollback(of: id, because: failure))
    let refusal = RollbackHasBegun(order: id)
    await #expect(throws: refusal) { try await store.begin(.charge, of: id) }
    await #expect(throws: refusal) { try await store.record("1", of: .validate, of: id) }
    await #expect(throws: refusal) {
      try await store.reserve(OrderLine(sku: "tea", quantity: 1), for: id)
    }
    await #expect(throws: refusal) { try await store.confirm(id) }
    await #expect(throws: refusal) { try await Warehouse(store).ship(id, lines: []) }
    #expect(try await store.order(id)?.steps == [])
    #expect(try await store.tea == 10)
  }

  @Test(arguments: Backend.here)
  func `keeps its first cause`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop()
    let id = try await store.order(1)
    _ = try await store.beginRollback(of: id, because: failure)
    let later = OrderFailure(cancelledBecause: "later")
    #expect(try await store.beginRollback(of: id, because: later))
    #expect(try await store.order(id)?.state == .rollingBack(failure))
    #expect(try await store.takeUp().map(\.id) == [id])
  }

  @Test(arguments: Backend.here)
  func `doesn't begin for an order that is confirmed`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop()
    let id = try await store.order(1)
    try await store.confirm(id)
    #expect(try await !store.beginRollback(of: id, because: failure))
    #expect(try await store.order(id)?.state == .confirmed)
    #expect(try await store.takeUp().isEmpty)
  }

  @Test(arguments: Backend.here)
  func `ends an order as failed, cancelled or stuck`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop()
    let cancelled = OrderFailure(cancelledBecause: "the client hung up")
    for (number, cause, problems, state) in [
      (1, failure, [], .failed(failure)),
      (2, cancelled, [], .cancelled(cancelled)),
      (3, failure, ["refund"], .stuck(failure, problems: ["refund"])),
    ] as [(Int, OrderFailure, [String], Order.State)] {
      let id = try await store.order(number)
      _ = try await store.beginRollback(of: id, because: cause)
      try await store.finishRollback(of: id, problems: problems)
      #expect(try await store.order(id)?.state == state)
    }
    #expect(try await store.takeUp().isEmpty)
  }

  @Test(arguments: Backend.here)
  func `calls a parcel back, and forbids another one`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop()
    let warehouse = Warehouse(store)
    let id = try await store.order(1)
    let number = try await warehouse.ship(id, lines: [])
    #expect(try await warehouse.ship(id, lines: []) == number)
    try await warehouse.recall(id)
    try await warehouse.recall(id)
    await #expect(throws: RollbackHasBegun(order: id)) { try await warehouse.ship(id, lines: []) }
  }

  @Test(arguments: Backend.here)
  func `is resumed for a stuck order if its card may be charged`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop()
    for number in 1...3 {
      let id = try await store.order(number)
      if number != 3 { try await store.begin(.charge, of: id) }
      _ = try await store.beginRollback(of: id, because: failure)
      if number == 2 { try await store.undone(.charge, of: id) }
      try await store.finishRollback(of: id, problems: ["refused"])
    }
    _ = try await store.order(4)
    #expect(try await store.unsettledOrders(limit: 9).map(\.id) == [.number(1)])
    try store.close()
    let next = try await database.open()
    #expect(try await next.takeUp().map(\.id) == [.number(1), .number(4)])
    #expect(try await next.order(.number(1))?.state == .rollingBack(failure))
    #expect(try await next.order(.number(2))?.state == .stuck(failure, problems: ["refused"]))
    #expect(try await next.unsettledOrders(limit: 9).map(\.id) == [.number(1)])
    #expect(try await next.unsettledOrders(limit: 0).isEmpty)
  }
}
