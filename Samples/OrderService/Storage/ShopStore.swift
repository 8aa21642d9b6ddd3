public import OrderWorkflow

/// A database with all that a shop needs: orders, parcels, and what is on the shelf.
public protocol ShopStore: OrderStore, ParcelBook {
  /// Puts items on the shelf: a new one, or more of one that the shop has already.
  ///
  /// - Parameter item: Its `stock` is how many come in; name and price take the place of older ones.
  /// - Throws: An error of the database, also for a price or a number that is out of bounds.
  func deliver(_ item: Item) async throws

  /// Ends the work with the database, in a program that ends.
  ///
  /// - Throws: An error of the database; nothing is lost then.
  func close() throws
}

extension SQLiteOrderStore: ShopStore {}

#if PostgreSQL
extension PostgreSQLOrderStore: ShopStore {
  /// Does nothing: its connections end with it.
  public func close() {}
}
#endif
