/// The provider has refused a card, and its ledger says the same.
public struct CardDeclined: Error, Hashable, Sendable, CustomStringConvertible {
  /// What the provider says.
  public var reason: String

  /// Creates the error.
  public init(reason: String) { self.reason = reason }

  /// One sentence with the reason.
  public var description: String { "The card was declined: \(reason)" }
}

/// The charge of an order was given back, or forbidden, while the order went on.
public struct ChargeTakenBack: Error, Hashable, Sendable, CustomStringConvertible {
  /// The key of the charge.
  public var key: String

  /// Creates the error.
  public init(key: String) { self.key = key }

  /// One sentence with the key.
  public var description: String { "The charge “\(key)” was taken back." }
}

/// The shop doesn't sell an item any more.
public struct ItemWithdrawn: Error, Hashable, Sendable, CustomStringConvertible {
  /// The item's number in the shop.
  public var sku: String

  /// Creates the error.
  public init(sku: String) { self.sku = sku }

  /// One sentence with the number.
  public var description: String { "“\(sku)” isn't sold any more." }
}

/// An order costs more than can be counted: the price of an item is wrong.
public struct SumTooLarge: Error, Hashable, Sendable, CustomStringConvertible {
  /// The item's number in the shop.
  public var sku: String

  /// Creates the error.
  public init(sku: String) { self.sku = sku }

  /// One sentence with the number.
  public var description: String { "With “\(sku)” the order costs more than can be counted." }
}
