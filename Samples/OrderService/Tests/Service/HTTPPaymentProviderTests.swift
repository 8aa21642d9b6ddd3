import AsyncHTTPClient
import Hummingbird
import HummingbirdTesting
import OrderWorkflow
import PaymentProviderServer
import Testing

@testable import OrderHTTP

private let charge = Charge(of: OrderID(rawValue: "7"), amount: Money(500))

/// The client of the payment provider, against the fake one over HTTP.
@Suite struct HTTPPaymentProviderTests {
  private let server: ProviderServer
  /// Where slow requests wait.
  private let gate = Gate()

  init() throws {
    let clock = ProviderClock(now: { .zero }) { [gate] _ in await gate.pass() }
    server = ProviderServer(ledger: try ChargeLedger(), clock: clock)
  }

  private func test(
    _ change: (inout Mood) -> Void = { _ in },
    _ body: @escaping @Sendable (HTTPPaymentProvider) async throws -> Void
  ) async throws {
    var mood = Mood()
    change(&mood)
    server.mood = mood
    let place = ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0))
    try await server.application(place).test(.live) { client in
      let port = try #require(client.port)
      try await body(HTTPPaymentProvider(url: "http://127.0.0.1:\(port)"))
    }
  }

  @Test func `The provider's ledger has the order of each charge, and all that became of it`()
    async throws
  {
    try await test { payments in
      var other = charge
      other.key = "b"
      _ = try await payments.charge(charge, cardToken: "t")
      _ = try await payments.refund(charge)
      _ = try await payments.charge(other, cardToken: "t")
    }
    let entries = await server.ledger.entries
    #expect(entries.map(\.status) == [.charged, .refunded, .charged])
    #expect(entries.map(\.reference) == ["7", "7", "7"])
  }

  @Test func `An ended provider is noticed immediately, and not after the time limit`() async throws
  {
    // A port that nothing listens at: a provider has just had it.
    let place = ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0))
    let port = try await server.application(place).test(.live) { try #require($0.port) }
    let client = HTTPClient(configuration: HTTPPaymentProvider.configuration)
    let payments = HTTPPaymentProvider(
      url: "http://127.0.0.1:\(port)",
      client: client,
      limit: .seconds(86_400)
    )
    await #expect(throws: PaymentProviderError.self) {
      try await payments.lookUp(charge)
    }
    try await client.shutdown()
  }

  @Test func `A charge is created, looked up and refunded`() async throws {
    try await test { payments in
      let unknown = try await payments.lookUp(charge)
      #expect(unknown == nil)
      let charged = ChargeAnswer(.charged, about: charge)
      #expect(try await payments.charge(charge, cardToken: "tok_visa") == charged)
      #expect(try await payments.lookUp(charge) == charged)
      let refunded = ChargeAnswer(.refunded, about: charge)
      for _ in 1...2 { #expect(try await payments.refund(charge) == refunded) }
      #expect(try await payments.lookUp(charge) == refunded)
    }
  }

  @Test func `A declined card isn't an error`() async throws {
    try await test { payments in
      for _ in 1...2 {
        let answer = try await payments.charge(charge, cardToken: "tok_declined")
        #expect(answer == ChargeAnswer(.declined, reason: "card_declined"))
      }
      let entry = try await payments.lookUp(charge)
      #expect(entry == ChargeAnswer(.declined, about: charge, reason: "card_declined"))
    }
  }

  @Test func `After a refund, nothing is charged under the key any more`() async throws {
    try await test { payments in
      try charge.checkRefund(try await payments.refund(charge), wasCharged: false)
      #expect(try await payments.charge(charge, cardToken: "t") == ChargeAnswer(.voided))
    }
    #expect(await server.ledger.charges.map(\.status) == [.voided])
  }

  @Test func `Failures, a rate and a provider that is down may pass`() async throws {
    for change in [{ $0.fail = 1 }, { $0.isDown = true }] as [@Sendable (inout Mood) -> Void] {
      try await test(change) { payments in
        await #expect {
          try await payments.charge(charge, cardToken: "t")
        } throws: { error in
          if case PaymentProviderError.unavailable = error { true } else { false }
        }
      }
    }
  }

  @Test func `The client reads the delay of a provider that has too many requests, or is down`()
    async throws
  {
    try await test({ $0.isDown = true }) { payments in
      let error = await #expect(throws: PaymentProviderError.self) {
        try await payments.lookUp(charge)
      }
      #expect(error == .unavailable("503 The provider is down.", retryAfter: .seconds(5)))
    }
    try await test({ $0.rate = 1 }) { payments in
      _ = try await payments.lookUp(charge)
      let error = await #expect(throws: PaymentProviderError.self) {
        try await payments.lookUp(charge)
      }
      #expect(error == .unavailable("429 Too many requests.", retryAfter: .seconds(1)))
    }
  }

  @Test(arguments: [
    (429, "30", Duration.seconds(30)), (503, "0", .zero), (429, "-1", nil), (429, "1.5", nil),
    (429, "", nil), (429, "99999999999999999999", nil), (500, "30", nil),
    (429, "Fri, 31 Dec 2100 23:59:59 GMT", nil),
  ])
  func `A delay is a number of seconds`(
    _ status: Int,
    _ header: String,
    _ delay: Duration?
  )
    async throws
  {
    let server = try await LyingServer { _ in
      LyingServer.json(status, "{}", "Retry-After: \(header)\r\n")
    }
    let error = await #expect(throws: PaymentProviderError.self) {
      try await HTTPPaymentProvider(url: server.url).lookUp(charge)
    }
    #expect(error == .unavailable("\(status)", retryAfter: delay))
    try await server.close()
  }

  @Test func `A lost answer is none`() async throws {
    try await test({ $0.lose = 1 }) { payments in
      await #expect {
        try await payments.charge(charge, cardToken: "t")
      } throws: { error in
        if case PaymentProviderError.noAnswer = error { true } else { false }
      }
    }
  }

  @Test func `A mistake in a request is refused, and no repetition helps`() async throws {
    try await test { payments in
      _ = try await payments.charge(charge, cardToken: "t")
      for amount in [Money(0), Money(6)] {
        let wrong = Charge(of: charge.order, amount: amount)
        await #expect {
          try await payments.charge(wrong, cardToken: "t")
        } throws: { error in
          if case PaymentProviderError.refused = error { true } else { false }
        }
      }
    }
  }

  @Test func `A cancelled request isn't a failure of the provider`() async throws {
    gate.close()
    try await test({ $0.slow = .seconds(1) }) { payments in
      let task = Task { try await payments.charge(charge, cardToken: "t") }
      // Cancelled when the provider has it.
      while await server.ledger.charge(charge.key) == nil { await Task.yield() }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      gate.open()
    }
  }
}
