#if PostgreSQL
import Foundation
import OrderWorkflow
import Synchronization
import Testing

@testable import OrderStorage

@Suite("On a bad day, a PostgreSQL database", .enabled(if: Backend.server != nil))
struct SharedDatabaseTroubleTests {
  @Test func `hears an instance all of whose connections are busy`() async throws {
    let scene = try await SharedScene()
    try await scene.age("beatAt", of: "first", by: 1)
    let gate = DispatchSemaphore(value: 0)
    try await withThrowingTaskGroup { group in
      // As many as the instance has, and others that wait behind them.
      for _ in 1...6 { group.addTask { try await scene.first.pool.read { _ in gate.wait() } } }
      _ = try await scene.first.beat()
      #expect(try await scene.first.requestedCancels().isEmpty)
      #expect(try await scene.first.takeOver(limit: 10).isEmpty)
      for _ in 1...6 { gate.signal() }
      try await group.waitForAll()
    }
    let age = try await scene.second.pool.read {
      try $0.execute(
        "SELECT extract(epoch FROM clock_timestamp() - beatAt) FROM instance WHERE name = 'first'"
      )
      .value
    }
    let seconds = try #require(age.flatMap(Double.init))
    #expect(seconds < scene.first.heartbeat / .seconds(1))
  }

  @Test func `lets all instances be heard again after an outage`() async throws {
    let scene = try await SharedScene()
    for instance in ["first", "second"] {
      for column in ["beatAt", "beatsSince"] { try await scene.age(column, of: instance, by: 50) }
    }
    // The first that is heard takes nothing from the others.
    _ = try await scene.second.beat()
    #expect(try await scene.second.takeOver(limit: 10).isEmpty)
    // It was heard for long enough, and the other one still wasn't.
    try await scene.age("beatsSince", of: "second", by: 2.5)
    _ = try await scene.second.beat()
    #expect(try await scene.second.takeOver(limit: 10).map(\.id) == [scene.id])
  }

  @Test func `takes no heartbeat of the future for a sign of life`() async throws {
    let scene = try await SharedScene()
    for instance in ["first", "second"] {
      for column in ["beatAt", "beatsSince"] { try await scene.age(column, of: instance, by: -50) }
    }
    _ = try await scene.second.beat()
    #expect(try await scene.second.takeOver(limit: 10).isEmpty)
    try await scene.age("beatsSince", of: "second", by: 2.5)
    #expect(try await scene.second.takeOver(limit: 10).map(\.id) == [scene.id])
  }

  @Test func `loses no tokens of the bucket when its clock is set back`() async throws {
    let scene = try await SharedScene()
    let period = Duration.seconds(1_000_000)
    #expect(try await scene.first.takeTokens(7, capacity: 10, period: period) == 7)
    try await scene.first.pool.write { connection in
      try connection.execute("UPDATE bucket SET filledAt = filledAt + interval '30 days'")
    }
    #expect(try await scene.first.takeTokens(7, capacity: 10, period: period) == 3)
    // It is filled again from now on, and not in thirty days.
    let isNow = try await scene.first.pool.read {
      try $0.execute("SELECT filledAt <= clock_timestamp() FROM bucket").value
    }
    #expect(isNow == "t")
  }

  @Test func `takes rows back from an instance that stands still in a transaction`() async throws {
    let scene = try await SharedScene()
    let gate = DispatchSemaphore(value: 0)
    defer { gate.signal() }
    let held = AsyncStream<Void>.makeStream()
    let frozen = Task {
      try await scene.first.write(about: scene.id) { _, _ in
        held.continuation.yield()
        gate.wait()
      }
    }
    for await _ in held.stream { break }
    try await scene.silence(3)
    // This waits until the server has ended the transaction, and no longer than a lock is waited for.
    try await scene.second.pool.write { connection in
      try connection.execute("SELECT FROM orders WHERE id = $1 FOR UPDATE", [scene.id.rawValue])
    }
    #expect(try await scene.second.takeOver(limit: 10).map(\.id) == [scene.id])
    try await scene.second.begin(.charge, of: scene.id)
    gate.signal()
    await #expect(throws: PostgreSQLError.self) { try await frozen.value }
  }

  @Test func `is left by connections whose other end has gone`() {
    let settings = Dictionary(
      uniqueKeysWithValues: PostgreSQLConnection.settings(url: "postgres://host/name")
    )
    // The system's own are two hours, and a quarter of an hour for what isn't acknowledged.
    for name in ["keepalives_idle", "keepalives_interval", "connect_timeout"] {
      #expect(settings[name].flatMap { Int($0) }.map { (1...10).contains($0) } == true, "\(name)")
    }
    #expect(settings["keepalives_count"].flatMap { Int($0) }.map { (1...5).contains($0) } == true)
    #expect(settings["tcp_user_timeout"].flatMap { Int($0) }.map { (1...10_000) ~= $0 } == true)
  }

  @Test func `wakes the instance that holds an order whose cancel is noted`() async throws {
    let scene = try await SharedScene()
    let signals = scene.first.cancelSignals
    #expect(try await scene.second.requestCancel(of: scene.id, because: "gone"))
    for await _ in signals {
      if try await scene.first.requestedCancels() == [scene.id: "gone"] { break }
    }
    #expect(try await scene.second.requestedCancels().isEmpty)
    _ = try await scene.first.beginRollback(
      of: scene.id,
      because: OrderFailure(cancelledBecause: "gone")
    )
    #expect(try await scene.first.requestedCancels().isEmpty)
  }

  @Test func `gets what it lacks when a newer version begins, and its orders stay`() async throws {
    let schema = try await TemporarySchema(url: try #require(Backend.server))
    let pool = PostgreSQLPool(url: schema.url, connections: 1)
    try await pool.write { connection in
      // The first version made its tables without a number.
      try connection.run(script: PostgreSQLSchema.all[0])
      try connection.run(
        script: """
          INSERT INTO orders (id, requestKey, customer, cardToken, acceptedAt, state)
          VALUES ('old', 'key', 'Ada', 'card', 0, 'open')
          """
      )
    }
    let id = OrderID(rawValue: "old")
    let store = try await schema.open("new")
    #expect(try await store.takeUp().map(\.id) == [id])
    #expect(try await store.requestCancel(of: id, because: "gone"))
    let again = try await schema.open("newer")
    #expect(try await again.order(id)?.cancelReason == "gone")
    let numbers = try await pool.read {
      try $0.execute("SELECT number FROM migration ORDER BY number").rows.map { $0[0] }
    }
    #expect(numbers == (1...PostgreSQLSchema.all.count).map { "\($0)" })
  }
}
#endif
