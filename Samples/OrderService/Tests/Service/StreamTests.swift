import AdvancedOperations
import HummingbirdTesting
import NIOCore
import OrderWorkflow
import Testing

@testable import OrderHTTP

/// Streams of events, and connections on which nothing happens.
@Suite struct StreamTests {
  private let draft = OrderDraft(
    customer: "Ada",
    cardToken: "t",
    lines: [OrderLine(sku: "MUG", quantity: 1)]
  )

  @Test func `A stream on which nothing happens says that it is there`() async throws {
    let bench = try Bench { $0.heartbeat = .milliseconds(1) }
    bench.payments.hold()
    let order = try await bench.desk.submit(draft, key: "a").order
    var comments = 0
    for try await message in bench.server.messages(of: order) {
      // More of them than of all events together.
      if String(buffer: message) == ":\n\n" { comments += 1 }
      if comments == 50 { bench.payments.release() }
    }
    #expect(comments >= 50)
  }

  @Test func `The page's stream says the same again where nothing changes`() async throws {
    let bench = try Bench { $0.heartbeat = .zero }
    var updates = bench.server.feed.updates.makeAsyncIterator()
    let first = await updates.next()
    #expect(first != nil)
    #expect(await updates.next() == first)
  }

  @Test func `An order that is interrupted counts as none that has ended`() async throws {
    let bench = try Bench()
    bench.payments.hold()
    let order = try await bench.desk.submit(draft, key: "a").order
    let operation = try #require(bench.desk.operation(of: order.id))
    let charge = operation.children.first { $0.name == "charge" }
    while charge?.isExecuting != true { await Task.yield() }
    async let drain = bench.desk.drain(within: .zero)
    while !operation.isCancelled { await Task.yield() }
    bench.payments.release()
    _ = await drain
    #expect(bench.desk.isInterrupted(order.id))
    #expect(bench.desk.interruptedCount == 1)
    #expect(try await bench.server.feed.current().counts == PageState.Counts())
    #expect(try await bench.desk.order(order.id)?.state == .open)
  }

  @Test func `A reader that is too slow gets what has gathered, and a reason`() async throws {
    let bench = try Bench {
      $0.eventLimit = 3
      $0.heartbeat = .zero
    }
    bench.payments.hold()
    let order = try await bench.desk.submit(draft, key: "a").order
    var iterator = bench.server.messages(of: order).makeAsyncIterator()
    let first = try await iterator.next()
    #expect(first.map { String(buffer: $0) }?.isEmpty == false)
    // It never ends by itself: the order waits, and there is always another message.
    let error = await #expect(throws: SlowReader.self) {
      while try await iterator.next() != nil {
        for _ in 0..<100 { await Task.yield() }
      }
    }
    #expect(error?.limit == 3)
    bench.payments.release()
  }

  @Test func `Repetitions are in the events, and on the page`() async throws {
    let bench = try Bench()
    bench.payments.fail(.max)
    // Until the stream listens: what came before isn't in it.
    bench.payments.hold()
    let order = try await bench.desk.submit(draft, key: "a").order
    var retries: [String] = []
    var steps: [PageState.Step] = []
    for try await message in bench.server.messages(of: order) {
      bench.payments.release()
      let text = String(buffer: message)
      guard text.contains(#""event":"retrying""#) else { continue }
      retries.append(text)
      if retries.count > 2 { continue }
      steps = try await bench.server.feed.current().rows.flatMap(\.steps)
      if retries.count == 2 { bench.payments.fail(0) }
    }
    #expect(retries.first?.contains(#""attempt":2"#) == true)
    #expect(retries.first?.contains(#""step":"charge""#) == true)
    #expect(retries.dropFirst().first?.contains(#""attempt":3"#) == true)
    let charge = steps.first { $0.name == "charge" }
    #expect(charge?.state == "retrying")
    #expect(charge?.attempt ?? 1 >= 3)
  }

  @Test func `A connection that says nothing is closed`() async throws {
    let bench = try Bench { $0.idleTimeout = .milliseconds(10) }
    try await bench.test(.live) { client in
      let socket = try await RawConnection(port: try #require(client.port))
      // A head that never ends, unless the connection is closed by now.
      try? await socket.send("GET /health HTTP/1.1\r\nHost: ")
      try await socket.untilClosed()
    }
  }

  @Test func `A head that is too large is refused`() async throws {
    let bench = try Bench()
    try await bench.test(.live) { client in
      let socket = try await RawConnection(port: try #require(client.port))
      let field = String(repeating: "x", count: 10_000)
      try? await socket.send("GET /health HTTP/1.1\r\nHost: localhost\r\nX: \(field)\r\n\r\n")
      try await socket.untilClosed()
    }
  }
}
