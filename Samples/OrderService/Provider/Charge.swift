/// What a customer is to be charged, as a request says it.
public struct ChargeRequest: Codable, Sendable, Hashable {
  /// The amount in minor units, cents of euros for example.
  public var amount: Int
  /// The currency, by its code of three letters.
  public var currency: String
  /// What stands for the customer's card.
  public var card: String
  /// What the client calls it: the number of an order.
  public var reference: String

  /// Creates a request.
  public init(amount: Int, currency: String, card: String, reference: String) {
    self.amount = amount
    self.currency = currency
    self.card = card
    self.reference = reference
  }

  /// What is wrong with it: a sentence for each mistake.
  var mistakes: [String] {
    var mistakes: [String] = []
    if amount <= 0 { mistakes.append("“amount” is a number of minor units, at least 1") }
    if currency.utf8.count != 3 || !currency.utf8.allSatisfy({ (65...90).contains($0) }) {
      mistakes.append("“currency” is a code of three capital letters, such as EUR")
    }
    if card.isEmpty { mistakes.append("“card” is missing") }
    if reference.isEmpty { mistakes.append("“reference” is missing") }
    return mistakes
  }
}

/// What became of a charge.
public struct Charge: Codable, Sendable, Hashable {
  /// Where a charge is in its life.
  public enum Status: String, Codable, Sendable, CaseIterable {
    /// A request for it is being processed. Exits: charged, declined, voided, or forgotten.
    case pending
    /// The customer has paid. Exit: refunded.
    case charged
    /// The card was refused, and will be for this key.
    case declined
    /// The customer has paid, and got it back.
    case refunded
    /// A refund came before the charge: it never happened, and never will.
    case voided
  }

  /// The key that the client has given it.
  public var key: String
  /// Where it is in its life.
  public var status: Status
  /// The amount in minor units; zero for a charge that was voided before it came.
  public var amount: Int
  /// The currency.
  public var currency: String
  /// What the client calls it.
  public var reference: String
  /// Why the card was refused.
  public var reason: String?
}

/// What is to be refunded: all of a charge.
struct RefundRequest: Codable, Sendable {
  /// The key of the charge.
  var charge: String
}
