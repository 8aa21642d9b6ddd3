#if PostgreSQL
import OrderWorkflow
import Testing

@testable import OrderStorage

/// Two instances that share a PostgreSQL database, and an order of the first.
struct SharedScene {
  let schema: TemporarySchema
  let first: PostgreSQLOrderStore
  let second: PostgreSQLOrderStore
  let id = OrderID.number(1)

  init() async throws {
    schema = try await TemporarySchema(url: try #require(Backend.server))
    first = try await schema.open("first")
    second = try await schema.open("second")
    try await first.deliver(Item(sku: "tea", name: "Tea", price: Money(450), stock: 10))
    _ = try await first.order(1)
  }

  /// Has the last heartbeat of the first instance be so many heartbeats ago; the second one was heard
  /// all the time.
  func silence(_ heartbeats: Double) async throws {
    try await age("beatAt", of: "first", by: heartbeats)
    try await age("beatsSince", of: "second", by: 100)
  }

  /// Has a time of an instance be earlier, by so many heartbeats.
  func age(_ column: String, of instance: String, by heartbeats: Double) async throws {
    let seconds = heartbeats * (first.heartbeat / .seconds(1))
    try await second.pool.write { connection in
      try connection.execute(
        """
        UPDATE instance SET \(column) = \(column) - $1::double precision * interval '1 second'
        WHERE name = $2
        """,
        ["\(seconds)", instance]
      )
    }
  }
}
#endif
