import ServiceSupport

/// The charge of an order as the shop wants it: what each answer of the payment provider is compared with.
public struct Charge: Hashable, Sendable {
  /// The name of the charge on both sides; an order has the same key in all requests.
  public var key: String

  /// The sum; nil if the order's total isn't known any more, and a refund is for all of it.
  public var amount: Money?

  /// The order that is paid with it.
  public var order: OrderID

  /// Creates the charge of an order.
  public init(of order: OrderID, amount: Money?) {
    self.order = order
    self.amount = amount
    key = order.chargeKey
  }
}

extension Charge {
  /// Returns the status that an answer confirms.
  ///
  /// An answer is confirmed if it has a status and is about this charge: the key, the amount, the
  /// currency and the reference are there and are those that were sent. A charge that was voided never
  /// had an amount, so that its key suffices. All answers are compared here, whatever was asked.
  ///
  /// - Parameter answer: The answer to a charge, a look-up or a refund.
  /// - Returns: The status.
  /// - Throws: ``PaymentProviderError/unconfirmed(_:)`` with all differences;
  ///   ``PaymentProviderError/unavailable(_:)`` for a charge that is being processed.
  public func status(confirmedBy answer: ChargeAnswer) throws -> ChargeStatus {
    var differences: [String] = []
    func compare<Value: Equatable>(_ name: String, _ value: Value?, _ expected: Value) {
      if value == expected { return }
      let found = value.map { "“\("\($0)".oneLine(atMost: 60))”" } ?? "missing"
      differences.append("its \(name) is \(found), and not “\(expected)”")
    }
    compare("key", answer.key, key)
    if answer.status != .voided {
      if let amount {
        compare("amount", answer.amount, amount.minorUnits)
        compare("currency", answer.currency, amount.currency)
      }
      compare("reference", answer.reference, order.rawValue)
    }
    if answer.status == nil { differences.append("it has no status that is known") }
    if !differences.isEmpty {
      throw PaymentProviderError.unconfirmed(differences.joined(separator: "; "))
    }
    return switch answer.status {
    case .charged: .charged
    case .refunded, .voided: .refunded
    case .declined: .declined(reason: (answer.reason ?? "declined").oneLine(atMost: 200))
    case .pending, nil: throw PaymentProviderError.unavailable("The charge is being processed.")
    }
  }

  /// Returns the sum that the card was charged with, as far as an answer says so.
  ///
  /// The sum needn't be the sum of the order. Such an answer confirms no charge, but money may be gone.
  ///
  /// - Parameter answer: The answer to a charge or a look-up.
  /// - Returns: The sum; nil if the answer doesn't say that this charge was made.
  public func sum(chargedBy answer: ChargeAnswer) -> Money? {
    guard answer.status == .charged, answer.key == key else { return nil }
    return Money(
      answer.amount ?? amount?.minorUnits ?? 0,
      answer.currency ?? amount?.currency ?? ""
    )
  }

  /// Throws unless an answer confirms that nothing is left of the charge.
  ///
  /// A charge that was made can only be refunded. The answers *voided* and *declined* are about a charge
  /// that was never made, so that the card would stay charged.
  ///
  /// - Parameters:
  ///   - answer: The answer to a refund.
  ///   - wasCharged: Whether the provider has answered that the charge was made.
  /// - Throws: The errors of ``status(confirmedBy:)``; ``PaymentProviderError/unconfirmed(_:)`` if the
  ///   card is still charged, or may be.
  public func checkRefund(_ answer: ChargeAnswer, wasCharged: Bool) throws {
    switch try status(confirmedBy: answer) {
    case .refunded where !wasCharged || answer.status == .refunded: return
    case .declined where !wasCharged: return
    case .charged, .refunded, .declined:
      let status = answer.status?.rawValue ?? "unknown"
      let cause = wasCharged && answer.status != .charged ? ", although the card was charged" : ""
      throw PaymentProviderError.unconfirmed(
        "the refund's status is “\(status)”, and not “refunded”\(cause)"
      )
    }
  }
}
