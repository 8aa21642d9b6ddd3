/// Something that the shop sells.
public struct Item: Hashable, Codable, Sendable, Identifiable {
  /// Its number in the shop (stock keeping unit).
  public var sku: String

  /// What it is called.
  public var name: String

  /// What one of it costs.
  public var price: Money

  /// How many can still be reserved.
  public var stock: Int

  /// The number in the shop.
  public var id: String { sku }

  /// Creates an item.
  public init(sku: String, name: String, price: Money, stock: Int) {
    self.sku = sku
    self.name = name
    self.price = price
    self.stock = stock
  }
}
