import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import ServiceSupport
import Synchronization
import Testing

@testable import PaymentProviderServer

/// The provider as its clients see it.
@Suite struct ProviderRoutesTests {
  private let ledger: ChargeLedger
  private let waits = Waits()
  private let provider: ProviderServer

  /// What the provider has waited for; waiting takes no time.
  private final class Waits: Sendable {
    let durations = Mutex<[Duration]>([])
  }

  init() throws {
    ledger = try ChargeLedger()
    provider = ProviderServer(
      ledger: ledger,
      clock: ProviderClock(now: { .zero }) { [waits] duration in
        waits.durations.withLock { $0.append(duration) }
      }
    )
  }

  private func test(
    _ setup: TestingSetup = .router,
    _ body: @escaping @Sendable (any TestClientProtocol) async throws -> Void
  ) async throws {
    try await provider.application(.init(address: .hostname("127.0.0.1", port: 0)))
      .test(setup) { try await body($0) }
  }

  private func charge(
    _ key: String?,
    _ client: any TestClientProtocol,
    card: String = "tok_visa",
    amount: Int = 1_999
  ) async throws -> TestResponse {
    var headers: HTTPFields = [.contentType: "application/json"]
    headers[.idempotencyKey] = key
    let request = ChargeRequest(amount: amount, currency: "EUR", card: card, reference: "7")
    return try await client.executeRequest(
      uri: "/charges",
      method: .post,
      headers: headers,
      body: ByteBuffer(bytes: JSONEncoder().encode(request))
    )
  }

  private func post(
    _ path: String,
    _ json: String,
    _ client: any TestClientProtocol
  ) async throws -> TestResponse {
    try await client.executeRequest(
      uri: path,
      method: .post,
      headers: [.contentType: "application/json"],
      body: ByteBuffer(string: json)
    )
  }

  private func get(_ path: String, _ client: any TestClientProtocol) async throws -> TestResponse {
    try await client.executeRequest(uri: path, method: .get, headers: [:], body: nil)
  }

  @Test func `A charge is made once for a key`() async throws {
    try await test { client in
      let first = try await charge("a", client)
      let second = try await charge("a", client)
      #expect(first.status == .created && second.status == .ok)
      #expect(first.body == second.body)
      #expect(try await get("/charges/a", client).body == first.body)
      #expect(try await charge("a", client, amount: 5).status == .unprocessableContent)
    }
    #expect(await ledger.charges.map(\.status) == [.charged])
  }

  @Test func `All mistakes are in one answer of the provider`() async throws {
    try await test { client in
      let response = try await charge(nil, client, card: "", amount: 0)
      #expect(response.status == .badRequest)
      let text = String(buffer: response.body)
      for word in ["Idempotency-Key", "amount", "card"] { #expect(text.contains(word)) }
      #expect(try await post("/charges", "{", client).status == .badRequest)
      #expect(try await post("/refunds", #"{"charge": ""}"#, client).status == .badRequest)
      #expect(try await post("/mood", #"{"fail": 2}"#, client).status == .badRequest)
    }
    #expect(await ledger.charges.isEmpty)
    #expect(provider.mood == Mood())
  }

  @Test func `A card for tests is declined, for the same reason each time`() async throws {
    try await test { client in
      for _ in 1...2 {
        let response = try await charge("a", client, card: "tok_insufficient")
        #expect(response.status == 402)
        #expect(String(buffer: response.body).contains("insufficient_funds"))
      }
    }
  }

  @Test func `A failure does nothing, and the next request may succeed`() async throws {
    provider.mood.fail = 1
    try await test(.router) { client in
      let failed = try await charge("a", client)
      #expect(failed.status == .internalServerError)
      #expect(await ledger.charges.isEmpty)
      provider.mood = Mood()
      #expect(try await charge("a", client).status == .created)
    }
  }

  @Test(arguments: ["a", "b"])
  func `A lie says that a charge failed that was made`(key: String) async throws {
    provider.mood.lie = 1
    try await test(.router) { client in
      let answer = try await charge(key, client)
      // One of the two sounds final.
      #expect(answer.status == (key == "b" ? 402 : .internalServerError))
      #expect(await ledger.charge(key)?.status == .charged)
      #expect(try await get("/charges/\(key)", client).status == .ok)
    }
  }

  @Test func `A lost answer closes the connection of a charge that was made`() async throws {
    provider.mood.lose = 1
    try await test(.live) { client in
      await #expect(throws: (any Error).self) { try await charge("a", client) }
    }
    #expect(await ledger.charge("a")?.status == .charged)
  }

  @Test func `Down means 503, and too many requests 429`() async throws {
    provider.mood.isDown = true
    try await test(.router) { client in
      let down = try await charge("a", client)
      #expect(down.status == .serviceUnavailable && down.headers[.retryAfter] == "5")
      #expect(try await get("/ledger", client).status == .ok)
      #expect(try await post("/mood", #"{"rate": 1}"#, client).status == .ok)
      #expect(try await charge("a", client).status == .created)
      let many = try await get("/charges/a", client)
      #expect(many.status == .tooManyRequests && many.headers[.retryAfter] == "1")
    }
  }

  @Test func `A slow charge waits half before it is made and half afterwards`() async throws {
    provider.mood.slow = .seconds(2)
    try await test(.router) { client in
      let charged = try await charge("a", client)
      #expect(charged.status == .created)
    }
    #expect(waits.durations.withLock { $0 } == [.seconds(1), .seconds(1)])
  }

  @Test func `A refund returns a charge, and forbids a later charge of its key`() async throws {
    try await test { client in
      _ = try await charge("a", client)
      for key in ["a", "a", "b"] {
        #expect(try await post("/refunds", #"{"charge": "\#(key)"}"#, client).status == .ok)
      }
      #expect(try await charge("b", client).status == .conflict)
      #expect(try await charge("a", client).status == .ok)
      #expect(try await get("/charges/c", client).status == .notFound)
    }
    #expect(await ledger.charges.map(\.status) == [.refunded, .voided])
    #expect(await ledger.entries.map(\.status) == [.charged, .refunded, .voided])
  }
}
