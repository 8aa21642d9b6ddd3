import HTTPTypes
import Hummingbird
import HummingbirdTesting
import OrderWorkflow
import ServiceSupport
import Testing

@testable import OrderHTTP

/// HTTP as clients speak it that aren't browsers, and the ones that are.
@Suite struct ConnectionTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  /// The text that comes back for some bytes, up to the end of the connection.
  private func exchange(_ text: String) async throws -> String {
    let answer = Answer()
    try await bench.test(.live) { client in
      let connection = try await RawConnection(port: try #require(client.port))
      try await connection.send(text)
      answer.text = try await connection.text()
    }
    return answer.text
  }

  private final class Answer: @unchecked Sendable {
    // Written before the test of the bench returns, and read afterwards.
    var text = ""
  }

  @Test(arguments: ["", "Connection: keep-alive\r\n", "Host: localhost\r\n"])
  func `A connection of HTTP 1.0 is closed after the answer`(field: String) async throws {
    let text = try await exchange("GET /health HTTP/1.0\r\n\(field)\r\n")
    #expect(text.hasPrefix("HTTP/1.0 200 OK\r\n") && text.hasSuffix("\r\n\r\nok\n"))
    #expect(text.contains("\r\nConnection: close\r\n"))
  }

  @Test(arguments: ["close", "Close", "TE, close"])
  func `A connection is closed if the request asks for it`(option: String) async throws {
    let text = try await exchange(
      "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: \(option)\r\n\r\n"
    )
    #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.contains("\r\nConnection: close\r\n"))
  }

  @Test func `A client that expects a continue sends its body after the continue`() async throws {
    let order = Bench.order
    let text = try await exchange(
      "POST /orders?wait=60s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + "Idempotency-Key: k\r\nExpect: 100-continue\r\nConnection: close\r\n"
        + "Content-Length: \(order.utf8.count)\r\n\r\n\(order)"
    )
    #expect(text.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"), "\(text)")
  }

  @Test func `The answer of an earlier request comes before another one's “continue”`() async throws
  {
    let order = Bench.order
    let text = try await exchange(
      "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        + "POST /orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + "Idempotency-Key: k\r\nExpect: 100-continue\r\nConnection: close\r\n"
        + "Content-Length: \(order.utf8.count)\r\n\r\n\(order)"
    )
    let lines = text.split(separator: "\r\n").filter { $0.contains("HTTP/1.1 ") }
    #expect(
      lines.map { $0.suffix(while: { $0 != "\n" }) } == [
        "HTTP/1.1 200 OK", "HTTP/1.1 100 Continue", "HTTP/1.1 202 Accepted",
      ]
    )
  }

  @Test func `Two hosts are a mistake`() async throws {
    let text = try await exchange(
      "GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n"
    )
    #expect(text.hasPrefix("HTTP/1.1 400 "))
    #expect(text.contains("application/problem+json"))
  }

  @Test func `Another site's name and page are refused`() async throws {
    let host = try await exchange("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    #expect(host.hasPrefix("HTTP/1.1 421 "))
    let origin = try await exchange(
      "DELETE /orders/1 HTTP/1.1\r\nHost: localhost\r\nOrigin: http://x\r\nConnection: close\r\n\r\n"
    )
    #expect(origin.hasPrefix("HTTP/1.1 403 "))
  }

  @Test func `A server with a token has it sent by what changes something`() async throws {
    let bench = try Bench { $0.token = "secret" }
    try await bench.test { client in
      #expect(try await client.get("/orders").status == .ok)
      let refused = try await client.place()
      #expect(refused.status == .unauthorized)
      #expect(refused.headers[.wwwAuthenticate] == "Bearer")
      let placed = try await client.executeRequest(
        uri: "/orders",
        method: .post,
        headers: [
          .contentType: "application/json", .idempotencyKey: "a", .authorization: "Bearer secret",
        ],
        body: ByteBuffer(string: Bench.order)
      )
      #expect(placed.status == .accepted)
    }
  }

  @Test(arguments: ["/health", "/orders/nope", "/", "/nothing", "/page.css", "/operations.svg"])
  func `A HEAD has the head of a GET, and isn't counted as active when it is over`(
    path: String
  )
    async throws
  {
    try await bench.test { client in
      let get = try await client.get(path)
      let head = try await client.executeRequest(
        uri: path,
        method: .head,
        headers: [:],
        body: nil
      )
      #expect(head.status == get.status)
      #expect(head.body.readableBytes == 0)
      #expect(head.headers[.contentLength] == "\(get.body.readableBytes)")
      for name in [.contentType, .eTag, .xContentTypeOptions] as [HTTPField.Name] {
        #expect(head.headers[name] == get.headers[name], "\(name)")
      }
      #expect(head.headers[.xContentTypeOptions] == "nosniff")
    }
  }

  @Test func `A HEAD of a stream has no body, and ends`() async throws {
    try await bench.test { client in
      let link = try #require(try await client.place(query: "?wait=60s").headers[.location])
      let head = try await client.executeRequest(
        uri: "\(link)/events",
        method: .head,
        headers: [:],
        body: nil
      )
      #expect(head.status == .ok && head.headers[.contentType] == "text/event-stream")
      #expect(head.text.isEmpty)
    }
  }

  @Test func `A client that has an answer gets 304, until that changes`() async throws {
    bench.payments.hold()
    try await bench.test { [bench] client in
      let link = try #require(try await client.place().headers[.location])
      let id = OrderID(rawValue: String(link.dropFirst("/orders/".count)))
      // The last change before the provider answers.
      while try await bench.desk.order(id)?.steps.last?.key != OrderStep.charge.key {
        await Task.yield()
      }
      let first = try await client.get(link)
      let tag = try #require(first.headers[.eTag])
      for known in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
        let same = try await client.get(link, [.ifNoneMatch: known])
        #expect(same.status == .notModified && same.text.isEmpty, "\(known)")
        #expect(same.headers[.eTag] == tag)
      }
      bench.payments.release()
      _ = try await client.place(query: "?wait=60s")
      let changed = try await client.get(link, [.ifNoneMatch: tag])
      #expect(changed.status == .ok && changed.headers[.eTag] != tag)
      #expect(try await client.get("/").headers[.eTag] == nil)
    }
  }
}

extension Substring {
  fileprivate func suffix(while condition: (Character) -> Bool) -> String {
    String(String(reversed().prefix(while: condition)).reversed())
  }
}
