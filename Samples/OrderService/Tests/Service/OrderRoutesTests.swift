import AdvancedOperations
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import OrderWorkflow
import ServiceSupport
import Testing

@testable import OrderHTTP

/// Orders over HTTP.
@Suite struct OrderRoutesTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  @Test func `An order is accepted with a link, and the link says how it is`() async throws {
    bench.payments.hold()
    try await bench.test { [bench] client in
      let accepted = try await client.place()
      #expect(accepted.status == .accepted)
      let link = try #require(accepted.headers[.location])
      #expect(try await client.get(link).json["state"] as? String == "open")
      bench.payments.release()
      // A repetition of the request waits for the same order.
      let outcome = try await client.place(query: "?wait=60s")
      #expect(outcome.status == .ok && outcome.headers[.location] == link)
      #expect(try outcome.json["state"] as? String == "confirmed")
      #expect(try await client.get(link).json["state"] as? String == "confirmed")
    }
    #expect(bench.payments.open.count == 1)
  }

  @Test func `The card's token is shown nowhere`() async throws {
    try await bench.test { client in
      let secret = Bench.order.replacing("tok", with: "tok_secret")
      let order = try await client.place(secret, query: "?wait=60s")
      let link = try #require(order.headers[.location])
      for path in [link, "\(link)/explain", "\(link)/timeline.svg", "/orders", "/", "/metrics"] {
        let answer = try await client.get(path)
        #expect(answer.status == .ok, "\(path)")
        #expect(!answer.text.contains("tok_secret"), "\(path)")
      }
    }
  }

  @Test func `A request whose wait is over gets 202, and the order continues`() async throws {
    bench.payments.hold()
    try await bench.test { [bench] client in
      let accepted = try await client.place(query: "?wait=0s")
      #expect(accepted.status == .accepted)
      bench.payments.release()
      #expect(try await client.place(query: "?wait=60s").status == .ok)
    }
  }

  @Test func `All mistakes of an order are in one answer`() async throws {
    try await bench.test { client in
      let wrong = """
        {"customer": 7, "card": "x", "lines": [{"sku": "CUP", "quantity": 0},
          {"sku": "MUG", "quantity": "two", "colour": "red"}, 5]}
        """
      let answer = try await client.place(wrong, key: nil)
      #expect(answer.status == .badRequest)
      let fields = Set(try answer.mistakes)
      #expect(
        fields == [
          "Idempotency-Key", "customer", "card", "cardToken", "lines[0].sku", "lines[0].quantity",
          "lines[1].quantity", "lines[1].colour", "lines[2]", "lines[2].sku",
        ]
      )
      for json in ["", "{", "[]", "7"] {
        #expect(try await client.place(json).status == .badRequest, "\(json)")
      }
      #expect(try await client.place("{}").mistakes == ["customer", "cardToken", "lines"])
      #expect(try await client.place(query: "?wait=long").mistakes == ["wait"])
      for type in ["text/plain", "application/jsonx", "application/json-patch+json"] {
        #expect(try await client.place(type: type).status == .unsupportedMediaType, "\(type)")
      }
      for type in ["application/json; charset=utf-8", "Application/JSON"] {
        #expect(try await client.place("{}", type: type).status == .badRequest, "\(type)")
      }
      let wide = try #require(Bench.order.data(using: .utf16LittleEndian))
      let refused = try await client.executeRequest(
        uri: "/orders",
        method: .post,
        headers: [.contentType: "application/json", .idempotencyKey: "wide"],
        body: ByteBuffer(bytes: wide)
      )
      #expect(refused.status == .badRequest && refused.text.contains("UTF-8"))
    }
    #expect(try await bench.desk.orders(limit: 10).isEmpty)
  }

  @Test(arguments: ["q\u{e9}", "q\u{fffd}", "\u{1f600}", String(repeating: "a", count: 201)])
  func `A key that is too long, or ambiguous as text, is a mistake`(
    key: String
  ) async throws {
    try await bench.test { client in
      let mistakes = try await client.place(key: key).mistakes
      #expect(mistakes == ["Idempotency-Key"])
      let status = try await client.place(key: "q e-9").status
      #expect(status == .accepted)
    }
  }

  @Test(arguments: ["5", #"{"a":1}"#, #"{"sku":"X","quantity":0}"#])
  func `Too many lines are one mistake, and only the first lines are checked`(
    line: String
  ) async throws {
    let count = 60_000 / (line.utf8.count + 1)
    let lines = Array(repeating: line, count: count).joined(separator: ",")
    try await bench.test { client in
      let answer = try await client.place(
        #"{"customer":"Ada","cardToken":"t","lines":[\#(lines)]}"#
      )
      #expect(answer.status == .badRequest)
      let mistakes = try answer.mistakes
      #expect(mistakes.count { $0 == "lines" } == 1)
      #expect(answer.text.contains("at most 100 lines, and this one has \(count)."))
      #expect(mistakes.contains { $0.hasPrefix("lines[99]") })
      #expect(!mistakes.contains { $0.hasPrefix("lines[100]") })
    }
  }

  @Test func `Unknown names that are too many are one mistake`() async throws {
    let names = (0..<5_000).map { "\"n\($0)\":1" }.joined(separator: ",")
    try await bench.test { client in
      let answer = try await client.place("{\(names)}")
      #expect(try answer.mistakes.count == 14)
      #expect(answer.text.contains("5000 names are unknown"))
    }
  }

  @Test func `Texts that are too long are mistakes`() async throws {
    let long = String(repeating: "é", count: 101)
    try await bench.test { client in
      let order = Bench.order.replacing("Ada", with: long).replacing("tok", with: long)
      let answer = try await client.place(order)
      #expect(try answer.mistakes == ["customer", "cardToken"])
      #expect(answer.text.contains("at most 200 bytes, and this one has 202."))
    }
  }

  @Test func `A key stands for one order`() async throws {
    try await bench.test { client in
      let first = try await client.place(query: "?wait=60s")
      let again = try await client.place(query: "?wait=60s")
      #expect(try first.json["id"] as? String == again.json["id"] as? String)
      let other = Bench.order.replacing("Ada", with: "Alan")
      #expect(try await client.place(other).status == .unprocessableContent)
    }
    #expect(try await bench.desk.orders(limit: 10).count == 1)
  }

  @Test func `A queue that is full answers 429 with a time, and repetitions as before`()
    async throws
  {
    let bench = try Bench(maximumOpen: 1)
    bench.payments.hold()
    try await bench.test { client in
      #expect(try await client.place().status == .accepted)
      let full = try await client.place(key: "b")
      #expect(full.status == .tooManyRequests)
      #expect(full.headers[.retryAfter].flatMap(Int.init) ?? 0 >= 1)
      #expect(try await client.place().status == .accepted)
      bench.payments.release()
      #expect(try await client.place(query: "?wait=60s").status == .ok)
    }
  }

  @Test func `A desk that is closed answers 503, and all else as before`() async throws {
    try await bench.test { [bench] client in
      let order = try await client.place(query: "?wait=60s")
      await bench.desk.drain(within: .zero)
      let closed = try await client.place(key: "b")
      #expect(closed.status == .serviceUnavailable)
      #expect(closed.headers[.retryAfter].flatMap(Int.init) ?? 0 >= 1)
      #expect(try await client.get("/ready").status == .serviceUnavailable)
      #expect(try await client.get("/health").status == .ok)
      #expect(try await client.get(try #require(order.headers[.location])).status == .ok)
      #expect(try await client.place().status == .ok)
    }
  }

  @Test func `A failed order says why, with the tree of failures`() async throws {
    try await bench.test { client in
      let order = try await client.place(
        #"{"customer":"Ada","cardToken":"t","lines":[{"sku":"TEE","quantity":9}]}"#,
        query: "?wait=60s"
      )
      #expect(order.status == .ok)
      let failure = try #require(try order.json["failure"] as? [String: String])
      #expect(failure["kind"] == "outOfStock" && failure["step"] == "reserve TEE")
      let link = try #require(order.headers[.location])
      let explanation = try await client.get("\(link)/explain").text
      #expect(explanation.contains("is failed") && explanation.contains("reserve TEE"))
    }
  }

  @Test func `An order that is open can be cancelled once`() async throws {
    bench.payments.hold()
    try await bench.test { [bench] client in
      let link = try #require(try await client.place().headers[.location])
      func cancel() async throws -> HTTPResponse.Status {
        try await client.executeRequest(uri: link, method: .delete, headers: [:], body: nil).status
      }
      #expect(try await cancel() == .accepted)
      bench.payments.release()
      #expect(try await client.place(query: "?wait=60s").json["state"] as? String == "cancelled")
      #expect(try await cancel() == .conflict)
    }
    #expect(bench.payments.open.isEmpty)
    #expect(try await bench.desk.items().map(\.stock) == [10, 3])
  }

  @Test func `Each error is a problem with a sentence, by RFC 9457`() async throws {
    try await bench.test { client in
      let long = String(repeating: " ", count: 70_000)
      let answers = [
        (try await client.get("/nowhere"), 404),
        (try await client.place(long), 413),
        (try await client.place("no JSON"), 400),
        (try await client.get("/orders/nothing"), 404),
      ]
      for (answer, status) in answers {
        #expect(answer.status.code == status)
        #expect(answer.headers[.contentType] == "application/problem+json")
        let problem = try answer.json
        #expect((problem["detail"] as? String)?.hasSuffix(".") == true, "\(answer.text)")
        #expect(problem["status"] as? Int == status)
        #expect(problem["title"] as? String == answer.status.reasonPhrase)
      }
    }
  }

  @Test(arguments: ["customer", "cardToken"])
  func `A text with U+0000, which no database keeps, is a mistake`(field: String) async throws {
    let order = Bench.order.replacing(
      try Regex("\"\(field)\":\"[^\"]*\""),
      with: #""\#(field)":"A\u0000B""#
    )
    try await bench.test { client in
      let answer = try await client.place(order)
      #expect(answer.status == .badRequest)
      #expect(try answer.mistakes == [field])
    }
  }

  @Test func `An object with a name twice is a mistake with its path, and a comma too many is one`()
    async throws
  {
    try await bench.test { client in
      let twice = Bench.order.replacing(#""quantity":2"#, with: #""quantity":2,"quantity":1000"#)
      let answer = try await client.place(twice)
      #expect(answer.status == .badRequest)
      #expect(try answer.mistakes == ["lines[0].quantity"])
      let trailing = Bench.order.dropLast() + ",}"
      #expect(try await client.place(String(trailing)).status == .badRequest)
    }
    #expect(try await bench.desk.orders(limit: 10).isEmpty)
  }

  @Test func `What isn't there is 404`() async throws {
    try await bench.test { client in
      for path in ["", "/explain", "/events", "/timeline.svg"] {
        let answer = try await client.get("/orders/nothing\(path)")
        #expect(answer.status == .notFound, "\(path)")
      }
      #expect(try await client.get("/provider/mood").status == .notFound)
    }
  }

  @Test func `A path without the method says which there are, and HEAD has no body`() async throws {
    try await bench.test { client in
      for (method, path, allowed) in [
        (.put, "/orders", "GET, HEAD, POST"), (.delete, "/orders", "GET, HEAD, POST"),
        (.patch, "/orders/x", "DELETE, GET, HEAD"), (.post, "/health", "GET, HEAD"),
      ] as [(HTTPRequest.Method, String, String)] {
        let answer = try await client.executeRequest(
          uri: path,
          method: method,
          headers: [:],
          body: nil
        )
        #expect(answer.status == .methodNotAllowed, "\(method) \(path)")
        #expect(answer.headers[.allow] == allowed, "\(method) \(path)")
        #expect(
          answer.text.contains("There is no \(method.rawValue) at this path, only \(allowed).")
        )
      }
      #expect(try await client.get("/nothing").status == .notFound)
      for (path, status) in [("/health", .ok), ("/orders/x", .notFound), ("/no", .notFound)]
        as [(String, HTTPResponse.Status)]
      {
        let answer = try await client.executeRequest(
          uri: path,
          method: .head,
          headers: [:],
          body: nil
        )
        #expect(answer.status == status, "\(path)")
        #expect(answer.text.isEmpty, "\(path)")
      }
    }
  }

  @Test func `A wait is one duration, and not too long`() async throws {
    try await bench.test { client in
      for query in ["?wait=61s", "?wait=1s&wait=2s", "?wait=5s5s", "?wait=soon"] {
        let answer = try await client.place(query: query)
        #expect(answer.status == .badRequest, "\(query)")
        #expect(answer.text.contains("of at most 1m"), "\(query)")
      }
    }
  }

  @Test func `A name obeys no terminal that shows the explanation`() async throws {
    try await bench.test { client in
      let name = #"Ada\u001b[31m\r\u202e"#
      let placed = try await client.place(
        Bench.order.replacing("Ada", with: name),
        query: "?wait=60s"
      )
      let link = try #require(placed.headers[.location])
      let answer = try await client.get("\(link)/explain")
      #expect(answer.text.contains("Ada\u{FFFD}[31m \u{FFFD} is confirmed"))
      #expect(answer.headers[.xContentTypeOptions] == "nosniff")
    }
  }

  @Test
  func `A body that doesn't come in time is a 408, and one that is too large names the limit`()
    async throws
  {
    let bench = try Bench { $0.bodyLimit = .milliseconds(1) }
    try await bench.test(.live) { client in
      let port = try #require(client.port)
      let half = try await RawConnection(port: port)
      try await half.send(
        "POST /orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
          + "Idempotency-Key: k\r\nContent-Length: 60\r\n\r\n{"
      )
      #expect(try await half.text().hasPrefix("HTTP/1.1 408 "))
    }
    try await Bench().test { client in
      let answer = try await client.place(String(repeating: " ", count: 65_537))
      #expect(answer.status == .contentTooLarge)
      #expect(answer.text.contains("more than 65536 bytes"))
    }
  }

  @Test(arguments: ["GET /health", "DELETE /orders/x", "POST /nothing", "POST /orders"])
  func `A body that no route reads keeps no connection`(start: String) async throws {
    try await bench.test(.live) { client in
      let half = try await RawConnection(port: try #require(client.port))
      try await half.send("\(start) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60\r\n\r\n{")
      #expect(try await half.text().contains("\r\nConnection: close\r\n"))
    }
  }

  @Test func `Chunks that are none are the client's mistake`() async throws {
    try await bench.test(.live) { client in
      let port = try #require(client.port)
      let wrong = try await RawConnection(port: port)
      try await wrong.send(
        "POST /orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
          + "Idempotency-Key: k\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
      )
      #expect(try await wrong.text().hasPrefix("HTTP/1.1 400 "))
    }
  }
}
