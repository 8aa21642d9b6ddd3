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

  /// Throws unless an answer confirms that nothing is left of the charge.
  ///
  /// - Parameter answer: The answer to a refund.
  /// - Throws: The errors of ``status(confirmedBy:)``; ``PaymentProviderError/unconfirmed(_:)`` if the
  ///   card is still charged.
  public func checkRefund(_ answer: ChargeAnswer) throws {
    switch try status(confirmedBy: answer) {
    case .refunded, .declined: return
    case .charged:
      throw PaymentProviderError.unconfirmed("the refund's status is “charged”, and not “refunded”")
    }
  }
}
