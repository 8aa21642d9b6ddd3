import AdvancedOperations
import OrderWorkflow
import Synchronization
import Testing

@testable import OrderHTTP

/// Orders whose provider answers with anything but the truth, over HTTP.
@Suite struct LyingProviderTests {
  /// A kind of answer to a charge, to a look-up, or to a refund.
  struct Kind: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: @Sendable (_ key: String) -> (String, LyingServer.End)
    var testDescription: String { name }

    static func json(_ name: String, _ status: Int, _ json: String, _ headers: String = "") -> Kind
    {
      Kind(name: name) { key in
        let text = json.replacing("KEY", with: key).replacing("REF", with: key.dropFirst(6))
        return LyingServer.json(status, text, headers)
      }
    }

    static func raw(_ name: String, _ bytes: String, _ end: LyingServer.End = .closes) -> Kind {
      Kind(name: name) { _ in (bytes, end) }
    }
  }

  /// The truth about an order of a mug.
  private static func truth(_ key: String, _ status: String) -> String {
    """
    {"key":"\(key)","status":"\(status)","amount":1250,"currency":"EUR","reference":"\(key.dropFirst(6))"}
    """
  }

  private static func record(
    key: String = "KEY",
    status: String = "refunded",
    amount: Int = 1_250,
    currency: String = "EUR",
    reference: String = "REF"
  ) -> String {
    """
    {"key":"\(key)","status":"\(status)","amount":\(amount),"currency":"\(currency)",
     "reference":"\(reference)"}
    """
  }

  /// Answers that confirm nothing, whatever was asked.
  static let kinds: [Kind] = [
    .json("an empty object", 200, "{}"),
    .json("an array", 200, "[]"),
    .json("a status without anything else", 200, #"{"status":"refunded"}"#),
    .json("another key", 200, record(key: "zzz")),
    .json("another amount", 200, record(amount: 1)),
    .json("another currency", 200, record(currency: "USD")),
    .json("another reference", 200, record(reference: "zzz")),
    .json("a status that isn't known", 200, record(status: "succeeded")),
    .json("a charge that is being processed", 200, record(status: "pending")),
    .json("an amount that is a text", 200, #"{"key":"KEY","status":"refunded","amount":"1250"}"#),
    .json(
      "a name that occurs twice",
      200,
      #"{"key":"KEY","status":"refunded","amount":1250,"amount":1,"currency":"EUR","reference":"REF"}"#
    ),
    .raw(
      "a page",
      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n<html>ok<"
    ),
    .raw("no content", "HTTP/1.1 204 No Content\r\n\r\n", .staysOpen),
    .raw("no HTTP", "\u{0}\u{1}garbage\r\n\r\n"),
    .raw("a closed connection", ""),
    .raw("half an answer", "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n{\"key\""),
    Kind(name: "an answer without an end") { _ in
      (
        "HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n"
          + String(repeating: "x", count: 65_536), .repeats
      )
    },
    .json("a redirect", 307, "{}", "Location: /elsewhere\r\n"),
    .json("a redirect to another place", 308, "{}", "Location: http://127.0.0.1:1/\r\n"),
    .json("a failure", 500, "{}"),
    .json("too many requests", 429, "{}"),
  ]

  /// Runs an order of a mug, whose parcel can't be sent, and gives the provider's server.
  private func run(
    _ name: String,
    lies count: Int,
    isRefunded: Bool,
    _ answer:
      @escaping @Sendable (_ isLie: Bool, _ request: LyingServer.Request, _ key: String)
      -> (String, LyingServer.End)
  ) async throws -> (Order, LyingServer) {
    let lies = Lies(left: count)
    let server = try await LyingServer { request in
      let isDue = (request.line == "POST /refunds") == isRefunded
      let isLie = isDue && lies.next()
      return answer(isLie, request, Self.key(in: request) ?? "")
    }
    var options = OrderDesk.Options()
    (options.firstDelay, options.longestDelay) = (.milliseconds(1), .milliseconds(5))
    options.refusedDelay = .milliseconds(5)
    options.breakerFailures = .max
    let desk = OrderDesk(
      store: InMemoryOrderStore(items: Bench.items),
      payments: HTTPPaymentProvider(url: server.url),
      shipping: isRefunded ? NoShipping() : InMemoryShipping() as any Shipping,
      options: options,
      environment: OperationEnvironment(claimDomain: ClaimDomain())
    )
    try await desk.open()
    let draft = OrderDraft(
      customer: "Ada",
      cardToken: "tok_secret",
      lines: [OrderLine(sku: "MUG", quantity: 1)]
    )
    let id = try await desk.submit(draft, key: name).order.id
    let order = try #require(try await desk.outcome(of: id, within: .seconds(60)))
    await desk.drain(within: .seconds(60))
    try await server.close()
    return (order, server)
  }

  /// The key of a charge, wherever a request has it.
  private static func key(in request: LyingServer.Request) -> String? {
    let places = [request.line, request.head, request.body]
    return places.lazy.compactMap { $0.firstMatch(of: /order-[0-9a-z]{13}/) }.first.map {
      String($0.0)
    }
  }

  @Test(arguments: kinds)
  func `A refund is requested until it is confirmed`(kind: Kind) async throws {
    let (order, server) = try await run(kind.name, lies: 3, isRefunded: true) {
      isLie,
      request,
      key in
      if isLie { return kind.bytes(key) }
      return LyingServer.json(
        200,
        Self.truth(key, request.line == "POST /refunds" ? "refunded" : "charged")
      )
    }
    #expect(order.state.name == "failed")
    #expect(server.requests.count { $0.line == "POST /refunds" } == 4)
    #expect(server.requests.allSatisfy { !$0.line.contains("elsewhere") })
  }

  @Test func `A refund that is answered with “charged” has not been made`() async throws {
    let (order, server) = try await run("charged", lies: 3, isRefunded: true) {
      isLie,
      request,
      key in
      let isRefund = request.line == "POST /refunds"
      return LyingServer.json(200, Self.truth(key, isRefund && !isLie ? "refunded" : "charged"))
    }
    #expect(order.state.name == "failed")
    #expect(server.requests.count { $0.line == "POST /refunds" } == 4)
  }

  @Test(arguments: kinds)
  func `A charge is looked up until it is confirmed`(kind: Kind) async throws {
    let (order, server) = try await run(kind.name, lies: 3, isRefunded: false) { isLie, _, key in
      isLie ? kind.bytes(key) : LyingServer.json(200, Self.truth(key, "charged"))
    }
    #expect(order.state == .confirmed)
    #expect(server.requests.filter { $0.line == "POST /charges" }.count >= 1)
    #expect(server.requests.allSatisfy { !$0.line.contains("elsewhere") })
  }

  @Test(arguments: [400, 401, 402, 404, 418])
  func `A refund that is refused is repeated until it is confirmed`(status: Int) async throws {
    let (order, server) = try await run("\(status)", lies: 25, isRefunded: true) {
      isLie,
      request,
      key in
      if isLie { return LyingServer.json(status, #"{"code":"declined","detail":"No refund."}"#) }
      let isRefund = request.line == "POST /refunds"
      return LyingServer.json(200, Self.truth(key, isRefund ? "refunded" : "charged"))
    }
    #expect(order.state.name == "failed")
    #expect(server.requests.count { $0.line == "POST /refunds" } == 26)
  }

  @Test func `The card's token is sent to no other address`() async throws {
    let other = try await LyingServer { _ in LyingServer.json(200, "{}") }
    let (order, _) = try await run("redirect", lies: 2, isRefunded: false) { isLie, request, key in
      isLie
        ? LyingServer.json(307, "{}", "Location: \(other.url)/charges\r\n")
        : LyingServer.json(200, Self.truth(key, "charged"))
    }
    #expect(order.state == .confirmed)
    #expect(other.requests.isEmpty)
    try await other.close()
  }
}

/// Counts lies that are left.
private final class Lies: Sendable {
  private let left: Mutex<Int>

  init(left: Int) { self.left = Mutex(left) }

  /// Whether the next answer is one of them.
  func next() -> Bool {
    left.withLock { left in
      defer { left = max(left - 1, 0) }
      return left > 0
    }
  }
}

/// Sends no parcel, for good.
private struct NoShipping: Shipping {
  func ship(_ order: OrderID, lines: [OrderLine]) async throws -> String {
    throw StoreContradiction(reason: "No parcel can be sent.")
  }

  func recall(_ order: OrderID) async throws {}
}
