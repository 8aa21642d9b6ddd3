/// The status of a charge that an answer of the payment provider confirms.
public enum ChargeStatus: Hashable, Codable, Sendable {
  /// The card was charged.
  case charged

  /// The card was not charged, and won't be.
  case declined(reason: String)

  /// The money was given back, or the charge was forbidden before it came.
  case refunded
}
