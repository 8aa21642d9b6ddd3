import Testing

@testable import PaymentProviderServer

/// The account of charges as a value: each event in each state.
@Suite struct ChargeBookTests {
  private static let request = ChargeRequest(
    amount: 1_999,
    currency: "EUR",
    card: "tok_visa",
    reference: "7"
  )

  /// A book whose charge “a” is in a state; nil for none.
  private func book(_ status: Charge.Status?) -> ChargeBook {
    var book = ChargeBook()
    guard let status else { return book }
    if status != .voided { _ = book.begin("a", Self.request) }
    switch status {
    case .pending: break
    case .charged, .refunded: _ = book.finish("a", declining: nil)
    case .declined: _ = book.finish("a", declining: "card_declined")
    case .voided: break
    }
    if status == .refunded || status == .voided { _ = book.refund("a") }
    return book
  }

  @Test(arguments: Charge.Status.allCases)
  func `A repeated request gets what became of the first`(status: Charge.Status) {
    var book = book(status)
    let before = book.charges
    let action = book.begin("a", Self.request)
    if status == .pending {
      #expect(action == .inProgress)
    } else {
      #expect(action == before.first.map(ChargeBook.BeginAction.answer))
    }
    #expect(book.charges == before)
  }

  @Test(arguments: [Charge.Status.charged, .declined, .refunded])
  func `A key stands for one request`(status: Charge.Status) {
    for path in [\ChargeRequest.currency, \.card, \.reference] {
      var book = book(status)
      var other = Self.request
      other[keyPath: path] = "other"
      #expect(book.begin("a", other) == .mismatch)
    }
    var book = book(status)
    var other = Self.request
    other.amount += 1
    #expect(book.begin("a", other) == .mismatch)
  }

  @Test func `A charge is made, or declined with a reason`() {
    var book = book(.pending)
    #expect(book.finish("a", declining: nil)?.status == .charged)
    var other = self.book(.pending)
    let charge = other.finish("a", declining: "insufficient_funds")
    #expect(charge?.status == .declined && charge?.reason == "insufficient_funds")
    #expect(book.finish("b", declining: nil) == nil)
  }

  @Test func `A charge that wasn't made leaves nothing`() {
    var book = book(.pending)
    book.forget("a")
    #expect(book.charges.isEmpty)
    #expect(book.begin("a", Self.request) == .process)
  }

  @Test(arguments: [Charge.Status.charged, .declined, .refunded, .voided])
  func `What has ended isn't forgotten`(status: Charge.Status) {
    var book = book(status)
    book.forget("a")
    #expect(book.charge("a")?.status == status)
  }

  @Test(
    arguments: [
      (nil, .voided, true), (.pending, .voided, true), (.charged, .refunded, true),
      (.declined, .declined, false), (.refunded, .refunded, false), (.voided, .voided, false),
    ] as [(Charge.Status?, Charge.Status, Bool)]
  )
  func `A refund leaves nothing of a charge`(
    status: Charge.Status?,
    after: Charge.Status,
    isNew: Bool
  ) {
    var book = book(status)
    let refund = book.refund("a")
    #expect(refund.charge.status == after && refund.isNew == isNew)
    #expect(book.charge("a") == refund.charge)
  }

  @Test func `A refund that comes while a charge is processed keeps it from being made`() {
    var book = book(.pending)
    _ = book.refund("a")
    #expect(book.finish("a", declining: nil)?.status == .voided)
    #expect(book.begin("a", Self.request) == .answer(book.charges[0]))
  }

  @Test func `Charges are in the order of their coming`() {
    var book = ChargeBook()
    for key in ["c", "a", "b"] { _ = book.begin(key, Self.request) }
    book.forget("a")
    #expect(book.charges.map(\.key) == ["c", "b"])
  }
}

extension ChargeBook {
  /// A charge that was to be processed is made, or declined, and that is written.
  fileprivate mutating func finish(_ key: String, declining reason: String?) -> Charge? {
    let charge = finishing(key, declining: reason)
    if let charge { take(charge) }
    return charge
  }

  /// A request for a refund has come, and what it makes of the charge is written.
  fileprivate mutating func refund(_ key: String) -> (charge: Charge, isNew: Bool) {
    let (before, charge) = (self.charge(key), refunding(key))
    take(charge)
    return (charge, charge != before)
  }
}
