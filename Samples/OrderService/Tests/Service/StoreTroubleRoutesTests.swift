import AdvancedOperations
import Foundation
import GRDB
import HTTPTypes
import HummingbirdTesting
import OrderWorkflow
import Testing

@testable import OrderHTTP
@testable import OrderStorage

/// A service whose database fails.
@Suite final class StoreTroubleRoutesTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "full-\(UUID())")

  init() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Has the database refuse all that is written, or take it again.
  private static func refuse(_ refuses: Bool, in store: SQLiteOrderStore) async throws {
    try await store.pool.writeWithoutTransaction { database in
      try database.execute(sql: "PRAGMA query_only = \(refuses)")
    }
  }

  @Test func `Names an order that it can't read, and is ready for others`() async throws {
    let store = try SQLiteOrderStore(path: folder.appending(path: "orders.sqlite").path)
    for item in Bench.items { try await store.deliver(item) }
    let line = OrderLine(sku: "MUG", quantity: 1)
    let draft = OrderDraft(customer: "Ada", cardToken: "t", lines: [line])
    let id = OrderID(rawValue: "lent")
    _ = try await store.accept(draft, id: id, key: "lent")
    try await store.pool.writeWithoutTransaction { database in
      try database.execute(sql: "UPDATE orders SET state = 'rolling back', failure = '{}'")
    }
    try await Bench(store: store).test { client in
      let ready = try await client.get("/ready")
      #expect(ready.status == .ok)
      #expect(try ready.json["ready"] as? Bool == true)
      for text in [ready.text, try await client.get("/operations.txt").text] {
        #expect(text.contains("order lent is left alone: "), "\(text)")
      }
      for answer in [
        try await client.get("/orders/lent"), try await client.place(key: "lent"),
        try await client.executeRequest(
          uri: "/orders/lent",
          method: .delete,
          headers: [:],
          body: nil
        ),
      ] {
        // It isn't over after a while: nobody is to try again.
        #expect(answer.status == .internalServerError && answer.headers[.retryAfter] == nil)
        #expect(answer.text.contains("It is left alone until"), "\(answer.text)")
      }
      #expect(try await client.get("/ready").status == .ok)
      #expect(try await client.place(query: "?wait=60s").json["state"] as? String == "confirmed")
      #expect(try await client.get("/orders").status == .ok)
    }
  }

  @Test func `Says why it isn't ready, and finishes its orders afterwards`() async throws {
    let store = try SQLiteOrderStore(path: folder.appending(path: "orders.sqlite").path)
    for item in Bench.items { try await store.deliver(item) }
    let bench = try Bench(store: store)
    bench.payments.hold()
    try await bench.test { client in
      let link = try #require(try await client.place().headers[.location])
      let id = OrderID(rawValue: String(link.dropFirst("/orders/".count)))
      let order = try #require(bench.desk.operation(of: id))
      let charge = order.children.first { $0.name == "charge" }
      while charge?.isExecuting != true { await Task.yield() }
      #expect(try await client.get("/ready").status == .ok)

      try await Self.refuse(true, in: store)
      bench.payments.release()
      while bench.desk.storeTrouble == nil { await Task.yield() }
      let ready = try await client.get("/ready")
      #expect(ready.status == .serviceUnavailable)
      #expect(ready.text.contains("readonly database"))
      #expect(try ready.json["code"] as? String == "store_fails")
      let refused = try await client.place(key: "b")
      #expect(refused.status == .serviceUnavailable)
      #expect(refused.headers[.retryAfter].flatMap(Int.init) ?? 0 >= 1)
      #expect(try await client.get(link).json["state"] as? String == "open")
      for path in ["\(link)/explain", "/operations.txt"] {
        let text = try await client.get(path).text
        #expect(text.contains("the store fails, and is retried: "), "\(text)")
      }

      try await Self.refuse(false, in: store)
      // An order that is kept says that the store works; without one, a probe finds out.
      #expect(try await client.place(key: "c", query: "?wait=60s").status == .ok)
      let outcome = try await client.place(query: "?wait=60s")
      #expect(try outcome.json["state"] as? String == "confirmed")
      #expect(bench.desk.storeTrouble == nil)
      #expect(try await client.get("/ready").status == .ok)
    }
  }
}
