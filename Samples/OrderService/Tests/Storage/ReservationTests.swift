import OrderStorage
import OrderWorkflow
import Testing

@Suite("A reservation in the database")
struct ReservationTests {
  @Test(arguments: Backend.here)
  func `takes from the stock, and is recorded as a step, once`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop(tea: 10)
    let id = try await store.order(1, tea: 3)
    let line = OrderLine(sku: "tea", quantity: 3)
    try await store.reserve(line, for: id)
    try await store.reserve(line, for: id)
    try await store.record("true", of: .reserve(sku: "tea"), of: id)
    #expect(try await store.tea == 7)
    let steps = try await store.order(id)?.steps
    #expect(steps == [StepRecord(key: "reserve tea", state: .done)])
  }

  @Test(arguments: Backend.here)
  func `of more than there is leaves nothing behind`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop(tea: 2)
    let id = try await store.order(1, tea: 3)
    await #expect(throws: OutOfStock(sku: "tea", stock: 2, needed: 3)) {
      try await store.reserve(OrderLine(sku: "tea", quantity: 3), for: id)
    }
    #expect(try await store.tea == 2)
    #expect(try await store.order(id)?.steps == [])
  }

  @Test(arguments: Backend.here)
  func `is given back once`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop(tea: 10)
    let id = try await store.order(1, tea: 3)
    let line = OrderLine(sku: "tea", quantity: 3)
    try await store.reserve(line, for: id)
    try await store.release(line, of: id)
    try await store.release(line, of: id)
    #expect(try await store.tea == 10)
    #expect(try await store.order(id)?.steps.map(\.state) == [.undone])
  }

  @Test(arguments: Backend.here)
  func `that fails takes none of those back that are written with it`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop(tea: 10)
    for number in 1...30 { _ = try await store.order(number) }
    let results = await withTaskGroup(of: Bool.self) { group in
      for number in 1...30 {
        group.addTask {
          let line = OrderLine(sku: "tea", quantity: 1)
          return (try? await store.reserve(line, for: .number(number))) != nil
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results.count { $0 } == 10)
    #expect(try await store.tea == 0)
    let reserved = try await store.orders(limit: 30).count { !$0.steps.isEmpty }
    #expect(reserved == 10)
  }
}
