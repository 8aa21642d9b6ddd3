#if PostgreSQL
import AdvancedOperations
import Foundation
import HTTPTypes
import HummingbirdTesting
import OrderWorkflow
import Testing

@testable import OrderHTTP
@testable import OrderStorage

/// The URL of a server for tests; nil without one.
private let server = ProcessInfo.processInfo.environment["ORDERS_POSTGRESQL"]

/// Services that share a PostgreSQL server, as a role of their own which can be locked out.
@Suite(.enabled(if: server != nil)) struct SharedServiceTests {
  private let name: String
  private let url: String
  private let owner: PostgreSQLPool

  init() async throws {
    let server = try #require(server)
    let name = "service_" + UUID().uuidString.replacing("-", with: "").lowercased()
    owner = PostgreSQLPool(url: server, connections: 1)
    try await owner.write { connection in
      try connection.run(
        script: "CREATE ROLE \(name) LOGIN; CREATE SCHEMA \(name) AUTHORIZATION \(name)"
      )
    }
    var parts = try #require(URLComponents(string: server))
    (parts.user, parts.percentEncodedQuery) = (name, "options=-csearch_path%3D\(name)")
    url = try #require(parts.string)
    self.name = name
  }

  private func bench(_ instance: String) async throws -> Bench {
    let store = try await PostgreSQLOrderStore(
      url: url,
      instance: instance,
      heartbeat: .milliseconds(500),
      connections: 2
    )
    if try await store.items().isEmpty { try await store.stock(Bench.items) }
    return try Bench(store: store)
  }

  /// Ends all connections of the services, and lets them make none; or lets them make some again.
  private func lock(_ isAway: Bool) async throws {
    try await owner.write { [name] connection in
      try connection.run(script: "ALTER ROLE \(name) \(isAway ? "NOLOGIN" : "LOGIN")")
    }
    guard isAway else { return }
    try await owner.write { [name] connection in
      try connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1",
        [name]
      )
    }
  }

  @Test func `Isn't ready while the server is away, and is when it is back`() async throws {
    let bench = try await bench("first")
    try await bench.test { client in
      #expect(try await client.get("/ready").status == .ok)
      try await lock(true)
      let away = try await client.get("/ready")
      #expect(away.status == .serviceUnavailable)
      #expect(away.text.contains("the store"), "\(away.text)")
      let refused = try await client.place()
      #expect(refused.status == .serviceUnavailable)
      #expect(refused.headers[.retryAfter] != nil)
      #expect(try await client.get("/health").status == .ok)
      try await lock(false)
      while try await client.get("/ready").status != .ok { await Task.yield() }
      #expect(try await client.place(query: "?wait=60s").json["state"] as? String == "confirmed")
    }
    await bench.desk.drain(within: .zero)
  }

  @Test func `Names the instance that holds an order, and cancels it there`() async throws {
    let (first, second) = (try await bench("first"), try await bench("second"))
    first.payments.hold()
    try await first.test { one in
      let link = try #require(try await one.place().headers[.location])
      let id = OrderID(rawValue: String(link.dropFirst("/orders/".count)))
      let operation = try #require(first.desk.operation(of: id))
      try await second.test { other in
        #expect(try await other.get(link).json["holder"] as? String == "first")
        #expect(try await other.get("\(link)/explain").text.contains("“first” works on it"))
        let answer = try await other.executeRequest(
          uri: link,
          method: .delete,
          headers: [:],
          body: nil
        )
        #expect(answer.status == .accepted)
        while !operation.isCancelled { await Task.yield() }
        first.payments.release()
        let order = try await second.desk.outcome(of: id, within: .seconds(60))
        #expect(order?.state.name == "cancelled")
        #expect(order?.state.failure?.reason == "It was cancelled by an operator.")
      }
    }
    #expect(first.payments.open.isEmpty)
    for bench in [first, second] { await bench.desk.drain(within: .zero) }
  }
}
#endif
