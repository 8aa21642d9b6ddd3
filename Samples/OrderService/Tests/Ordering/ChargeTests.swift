import OrderWorkflow
import Testing

@Suite("An answer of the payment provider")
struct ChargeTests {
  private let charge = Charge(of: OrderID(rawValue: "7"), amount: Money(500))

  /// What is changed about an answer that tells the truth, and the difference that is found.
  struct Lie: Sendable, CustomTestStringConvertible {
    let change: @Sendable (inout ChargeAnswer) -> Void
    let difference: String
    var testDescription: String { difference }
  }

  static let lies = [
    Lie(change: { $0.key = "zzz" }, difference: "its key is “zzz”, and not “order-7”"),
    Lie(change: { $0.key = nil }, difference: "its key is missing, and not “order-7”"),
    Lie(change: { $0.amount = 1 }, difference: "its amount is “1”, and not “500”"),
    Lie(change: { $0.amount = nil }, difference: "its amount is missing, and not “500”"),
    Lie(change: { $0.currency = "USD" }, difference: "its currency is “USD”, and not “EUR”"),
    Lie(change: { $0.currency = nil }, difference: "its currency is missing, and not “EUR”"),
    Lie(change: { $0.reference = "8" }, difference: "its reference is “8”, and not “7”"),
    Lie(change: { $0.reference = nil }, difference: "its reference is missing, and not “7”"),
    Lie(change: { $0.status = nil }, difference: "it has no status that is known"),
  ]

  @Test(arguments: lies, [.charged, .declined, .refunded] as [ChargeAnswer.Status])
  func `confirms nothing if one field is another than that of the charge`(
    lie: Lie,
    status: ChargeAnswer.Status
  ) {
    var answer = ChargeAnswer(status, about: charge)
    lie.change(&answer)
    let error = PaymentProviderError.unconfirmed(lie.difference)
    #expect(throws: error) { try charge.status(confirmedBy: answer) }
    #expect(throws: error) { try charge.checkRefund(answer, wasCharged: false) }
  }

  @Test func `confirms nothing if it is empty, and all that is missing is named`() {
    #expect(
      throws: PaymentProviderError.unconfirmed(
        "its key is missing, and not “order-7”; its amount is missing, and not “500”; its currency is "
          + "missing, and not “EUR”; its reference is missing, and not “7”; it has no status that is known"
      )
    ) {
      try charge.status(confirmedBy: ChargeAnswer())
    }
  }

  @Test func `confirms its status if all fields are those of the charge`() throws {
    func status(_ status: ChargeAnswer.Status) throws -> ChargeStatus {
      try charge.status(confirmedBy: ChargeAnswer(status, about: charge, reason: "no money"))
    }
    #expect(try status(.charged) == .charged)
    #expect(try status(.declined) == .declined(reason: "no money"))
    #expect(try status(.refunded) == .refunded)
    #expect(try status(.voided) == .refunded)
    #expect(throws: PaymentProviderError.unavailable("The charge is being processed.")) {
      try status(.pending)
    }
  }

  @Test func `an answer confirms a refund if the money was refunded, or never charged`() throws {
    for status in [.refunded, .voided, .declined] as [ChargeAnswer.Status] {
      try charge.checkRefund(ChargeAnswer(status, about: charge), wasCharged: false)
    }
    for status in [.charged, .pending] as [ChargeAnswer.Status] {
      #expect(throws: PaymentProviderError.self, "\(status)") {
        try charge.checkRefund(ChargeAnswer(status, about: charge), wasCharged: false)
      }
    }
  }

  @Test func `an answer confirms a refund of a charged card only if the money was refunded`() throws
  {
    try charge.checkRefund(ChargeAnswer(.refunded, about: charge), wasCharged: true)
    for status in [.voided, .declined, .charged, .pending] as [ChargeAnswer.Status] {
      #expect(throws: PaymentProviderError.self, "\(status)") {
        try charge.checkRefund(ChargeAnswer(status, about: charge), wasCharged: true)
      }
    }
  }

  @Test func `confirms that a charge is forbidden with its key alone, as it never had an amount`()
    throws
  {
    var answer = ChargeAnswer(.voided)
    (answer.key, answer.amount, answer.currency, answer.reference) = (charge.key, 0, "", "")
    #expect(try charge.status(confirmedBy: answer) == .refunded)
    answer.key = "order-8"
    #expect(throws: PaymentProviderError.self) { try charge.status(confirmedBy: answer) }
  }

  @Test func `confirms a refund of an order whose total isn't known any more`() throws {
    let unknown = Charge(of: OrderID(rawValue: "7"), amount: nil)
    try unknown.checkRefund(ChargeAnswer(.refunded, about: charge), wasCharged: true)
    #expect(throws: PaymentProviderError.self) {
      try unknown.checkRefund(
        ChargeAnswer(.refunded, about: Charge(of: OrderID(rawValue: "8"), amount: nil)),
        wasCharged: true
      )
    }
  }

  @Test func `has a reason of one short line, whatever was sent`() throws {
    let reason = "x\r\nSet-Cookie: a\u{1b}[31m" + String(repeating: "y", count: 60_000)
    let answer = ChargeAnswer(.declined, about: charge, reason: reason)
    guard case .declined(let text) = try charge.status(confirmedBy: answer) else {
      Issue.record("The answer isn't “declined”.")
      return
    }
    #expect(text.hasPrefix("x\u{FFFD}\u{FFFD}Set-Cookie: a\u{FFFD}[31my"))
    #expect(text.unicodeScalars.count == 201)
  }
}
