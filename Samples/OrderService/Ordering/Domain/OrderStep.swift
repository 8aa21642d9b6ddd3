/// A step on the way of an order.
public enum OrderStep: Hashable, Sendable, CustomStringConvertible {
  /// The total is computed from the prices of the shop.
  case validate

  /// So many of an item are set aside for the order.
  case reserve(sku: String)

  /// The customer's card is charged.
  case charge

  /// The parcel goes out.
  case ship

  /// The order is confirmed: from here on nothing is undone.
  case confirm

  /// The key of the step in the order's journal, which is the name of its operation too.
  public var key: String {
    switch self {
    case .validate: "validate"
    case .reserve(let sku): "reserve \(sku)"
    case .charge: "charge"
    case .ship: "ship"
    case .confirm: "confirm"
    }
  }

  /// Reads a key; nil for what is none.
  public init?(key: String) {
    switch key {
    case "validate": self = .validate
    case "charge": self = .charge
    case "ship": self = .ship
    case "confirm": self = .confirm
    default:
      guard key.hasPrefix("reserve ") else { return nil }
      self = .reserve(sku: String(key.dropFirst(8)))
    }
  }

  /// The key.
  public var description: String { key }
}
