import GRDB
import OrderWorkflow
import Testing

@testable import OrderStorage

@Suite("A database of orders")
struct OrderStoreTests {
  let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  @Test func `has its orders after it was closed and opened`() async throws {
    do {
      let store = try await database.shop()
      let id = try await store.order(1, tea: 2)
      try await store.record("450", of: .validate, of: id)
      try await store.begin(.charge, of: id)
    }
    let store = try database.open()
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

  @Test func `gives an order as it was accepted`() async throws {
    let store = try await database.shop()
    let submission = try await store.accept(.tea(3), id: .number(1), key: "a")
    #expect(submission.isNew)
    #expect(try await store.order(.number(1)) == submission.order)
    #expect(try await store.order(forKey: "a") == submission.order)
    #expect(try await store.orders(limit: 5) == [submission.order])
  }

  @Test func `has one order for a key, however many requests come at once`() async throws {
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

  @Test func `refuses a second order with an ID`() async throws {
    let store = try await database.shop()
    _ = try await store.accept(.tea(1), id: .number(1), key: "a")
    await #expect(throws: (any Error).self) {
      try await store.accept(.tea(2), id: .number(1), key: "b")
    }
    #expect(try await store.order(.number(1))?.draft == .tea(1))
  }

  @Test func `waits for the disk with each commit`() throws {
    let store = try database.open()
    let level = try store.pool.writeWithoutTransaction { database in
      try Int.fetchOne(database, sql: "PRAGMA synchronous")
    }
    // 2 is FULL: the log is written through before a commit counts.
    #expect(level == 2)
  }

  @Test func `belongs to one program at a time`() async throws {
    do {
      let store = try database.open()
      #expect(throws: StoreInUse(path: database.path)) { try database.open() }
      #expect(try await store.items().isEmpty)
    }
    _ = try database.open()
  }

  @Test func `adds up what is delivered`() async throws {
    let store = try await database.shop(tea: 10)
    try await store.deliver(Item(sku: "tea", name: "Green tea", price: Money(500), stock: 5))
    #expect(
      try await store.items() == [
        Item(sku: "tea", name: "Green tea", price: Money(500), stock: 15)
      ]
    )
  }
}
