/// So many of one item.
public struct OrderLine: Hashable, Codable, Sendable {
  /// The item's number in the shop.
  public var sku: String

  /// How many of it.
  public var quantity: Int

  /// Creates a line.
  public init(sku: String, quantity: Int) {
    self.sku = sku
    self.quantity = quantity
  }
}
