import OrderStorage
import OrderWorkflow
import Testing

@Suite("A database of orders")
struct OrderStoreTests {
  @Test(arguments: Backend.here)
  func `has its orders after it was closed and opened`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    do {
      let store = try await database.shop()
      let id = try await store.order(1, tea: 2)
      try await store.record("450", of: .validate, of: id)
      try await store.begin(.charge, of: id)
    }
    let store = try await database.open()
    let orders = try await store.takeUp()
    #expect(orders.map(\.id) == [.number(1)])
    #expect(orders.first?.draft == .tea(2))
    #expect(
      orders.first?.steps == [
        StepRecord(key: "validate", state: .done), StepRecord(key: "charge", state: .begun),
      ]
    )
    #expect(try await store.value(of: .validate, of: .number(1)) == "450")
  }

  @Test(arguments: Backend.here)
  func `gives an order as it was accepted`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop()
    let submission = try await store.accept(.tea(3), id: .number(1), key: "a")
    #expect(submission.isNew)
    #expect(try await store.order(.number(1)) == submission.order)
    #expect(try await store.order(forKey: "a") == submission.order)
    #expect(try await store.orders(limit: 5) == [submission.order])
  }

  @Test(arguments: Backend.here)
  func `has one order for a key, however many requests come at once`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop()
    let submissions = try await withThrowingTaskGroup(of: Submission.self) { group in
      for number in 1...20 {
        group.addTask { try await store.accept(.tea(), id: .number(number), key: "a") }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(submissions.count { $0.isNew } == 1)
    #expect(Set(submissions.map(\.order.id)).count == 1)
    #expect(try await store.orders(limit: 50).count == 1)
  }

  @Test(arguments: Backend.here)
  func `refuses a second order with an ID`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop()
    _ = try await store.accept(.tea(1), id: .number(1), key: "a")
    await #expect(throws: (any Error).self) {
      try await store.accept(.tea(2), id: .number(1), key: "b")
    }
    #expect(try await store.order(.number(1))?.draft == .tea(1))
  }

  @Test(arguments: Backend.here)
  func `adds up what is delivered`(
    _ backend: Backend
  ) async throws {
    let database = try await backend.database()
    let store = try await database.shop(tea: 10)
    try await store.deliver(Item(sku: "tea", name: "Green tea", price: Money(500), stock: 5))
    #expect(
      try await store.items() == [
        Item(sku: "tea", name: "Green tea", price: Money(500), stock: 15)
      ]
    )
  }
}
