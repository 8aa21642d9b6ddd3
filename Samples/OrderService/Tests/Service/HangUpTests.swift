import AdvancedOperations
import HummingbirdTesting
import OrderWorkflow
import Testing

@testable import OrderHTTP

/// Clients that hang up while they wait.
@Suite struct HangUpTests {
  private let store = GatedStore()
  private let bench: Bench

  init() throws { bench = try Bench(store: store) }

  /// Waits until a call of the store has come so often.
  private func until(_ call: String, _ count: Int = 1) async {
    while store.count(call) < count { await Task.yield() }
  }

  /// The only order.
  private func order() async throws -> Order {
    try #require(try await bench.desk.orders(limit: 1).first)
  }

  /// An order whose client hangs up during a call of the store, at its end.
  private func hangUp(
    during call: String,
    isInTime: Bool = true,
    _ check: @escaping @Sendable (Order) throws -> Void
  )
    async throws
  {
    store.hold(call)
    try await bench.test(.live) { [self] client in
      let socket = try await RawConnection(port: try #require(client.port))
      try await socket.place()
      await until(call)
      let id = try await order().id
      let operation = try #require(bench.desk.operation(of: id))
      try await socket.close()
      if isInTime {
        while !operation.isCancelled { await Task.yield() }
      } else {
        while store.count("request cancel") == 0 { await Task.yield() }
      }
      store.release()
      try check(try #require(try await bench.desk.outcome(of: id, within: .seconds(60))))
    }
  }

  @Test(
    arguments: [
      "record validate", "reserve", "begin charge", "record charge", "begin ship", "confirm",
    ]
  )
  func `A hang-up in any step undoes the order`(call: String) async throws {
    try await hangUp(during: call) { end in
      #expect(end.state.name == "cancelled")
      #expect(end.state.failure?.reason.contains("hung up") == true)
    }
    #expect(bench.payments.open.isEmpty)
    #expect(await store.items().map(\.stock) == [10, 3])
  }

  @Test func `A hang-up comes too late for an order that is confirmed, and doesn't know it yet`()
    async throws
  {
    try await hangUp(during: "confirmed", isInTime: false) { #expect($0.state == .confirmed) }
    #expect(bench.payments.open.count == 1)
  }

  @Test func `The order continues as long as one client waits for it`() async throws {
    bench.payments.hold()
    try await bench.test(.live) { [self] client in
      let port = try #require(client.port)
      let first = try await RawConnection(port: port)
      let second = try await RawConnection(port: port)
      let third = try await RawConnection(port: port)
      for socket in [first, second, third] { try await socket.place() }
      await until("begin charge")
      let id = try await order().id
      while bench.server.clients.count(id) < 3 { await Task.yield() }
      let operation = try #require(bench.desk.operation(of: id))
      for (socket, left) in [(second, 2), (first, 1)] {
        try await socket.close()
        while bench.server.clients.count(id) > left { await Task.yield() }
        #expect(!operation.isCancelled)
      }
      try await third.close()
      while !operation.isCancelled { await Task.yield() }
      bench.payments.release()
      _ = try await bench.desk.outcome(of: id, within: .seconds(60))
      #expect(try await order().state.name == "cancelled")
    }
  }

  @Test func `A connection is closed after the answer, whatever was sent behind the request`()
    async throws
  {
    // The client learns the end of the answer, and need not wait for that of a time.
    let bench = try Bench { $0.closeLimit = .seconds(86_400) }
    try await bench.test(.live) { client in
      let socket = try await RawConnection(port: try #require(client.port))
      try await socket.place()
      try await socket.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
      let answer = try await socket.text()
      #expect(answer.hasPrefix("HTTP/1.1 200") && answer.contains("Connection: close"), "\(answer)")
    }
  }

  @Test func `A repetition finds the order that is being accepted, and waits for its outcome`()
    async throws
  {
    store.hold("accept")
    try await bench.test { [self] client in
      async let first = client.place(query: "?wait=60s")
      await until("accept")
      async let second = client.place(query: "?wait=60s")
      let id = try await order().id
      while bench.server.clients.count(id) < 1 { await Task.yield() }
      store.release()
      #expect(try await first.json["state"] as? String == "confirmed")
      #expect(try await second.json["state"] as? String == "confirmed")
    }
  }

  @Test func `A cancel finds the order that is being accepted`() async throws {
    store.hold("accept")
    try await bench.test { [self] client in
      async let first = client.place(query: "?wait=60s")
      await until("accept")
      let id = try await order().id
      #expect(bench.desk.cancel(id, because: "a change of mind"))
      store.release()
      #expect(try await first.json["state"] as? String == "cancelled")
    }
    #expect(bench.payments.open.isEmpty)
  }

  @Test func `The shop's items are read once for a request, and once for its total`() async throws {
    try await bench.test { [store] client in
      _ = try await client.place(query: "?wait=60s")
      #expect(store.count("items") == 2)
      // A repetition has no need of them; mistakes of both kinds are found with one look.
      _ = try await client.place()
      #expect(store.count("items") == 2)
      let wrong = #"{"customer":7,"cardToken":"t","lines":[{"sku":"CUP","quantity":1}]}"#
      #expect(try await client.place(wrong).mistakes == ["customer", "lines[0].sku"])
      #expect(store.count("items") == 3)
    }
  }
}
