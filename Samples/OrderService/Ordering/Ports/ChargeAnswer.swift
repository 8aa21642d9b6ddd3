/// An answer of the payment provider about a charge, as it was sent: a claim that may be wrong.
///
/// ``Charge/status(confirmedBy:)`` compares it with the charge.
public struct ChargeAnswer: Hashable, Sendable {
  /// The words of the provider for what became of a charge.
  public enum Status: String, Hashable, Codable, Sendable, CaseIterable {
    /// The provider is working on it.
    case pending
    /// The card was charged.
    case charged
    /// The card was not charged, and won't be.
    case declined
    /// The money was given back.
    case refunded
    /// The charge was forbidden before it came.
    case voided
  }

  /// The key of the charge.
  public var key: String?

  /// The status; nil if there is none, or one that isn't known.
  public var status: Status?

  /// The amount in the smallest unit of the currency.
  public var amount: Int?

  /// The code of the currency.
  public var currency: String?

  /// The order that it is for.
  public var reference: String?

  /// The reason why the card was declined.
  public var reason: String?

  /// Creates an answer that has nothing but a status, or not even that.
  public init(_ status: Status? = nil, reason: String? = nil) {
    self.status = status
    self.reason = reason
  }

  /// Creates the answer of a provider that tells the truth.
  public init(_ status: Status, about charge: Charge, reason: String? = nil) {
    self.init(status, reason: reason)
    (key, reference) = (charge.key, charge.order.rawValue)
    (amount, currency) = (charge.amount?.minorUnits, charge.amount?.currency)
  }
}
