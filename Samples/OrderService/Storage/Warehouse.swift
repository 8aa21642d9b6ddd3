import GRDB
public import OrderWorkflow

/// The shop's own carrier: a parcel is a row of the database.
///
/// What the database throws is `StoreUnavailable`: trouble of the database fails no order.
public struct Warehouse: Shipping {
  private let store: SQLiteOrderStore

  /// Creates the warehouse of a shop.
  public init(_ store: SQLiteOrderStore) { self.store = store }

  /// Sends a parcel, unless one was sent for the order.
  public func ship(_ order: OrderID, lines: [OrderLine]) async throws -> String {
    try await write { database in
      let parcel = try Row.fetchOne(
        database,
        sql: "SELECT number FROM parcel WHERE orderID = ?",
        arguments: [order.rawValue]
      )
      if let parcel {
        guard let number: String = parcel[0] else { throw RollbackHasBegun(order: order) }
        return number
      }
      try database.mustBeOpen(order)
      let number = "P-\(order)"
      try database.execute(
        sql: "INSERT INTO parcel (orderID, number) VALUES (?, ?)",
        arguments: [order.rawValue, number]
      )
      return number
    }
  }

  /// Calls a parcel back, and forbids another one.
  public func recall(_ order: OrderID) async throws {
    try await write { database in
      try database.execute(
        sql: """
          INSERT INTO parcel (orderID, number) VALUES (?, NULL)
          ON CONFLICT (orderID) DO UPDATE SET number = NULL
          """,
        arguments: [order.rawValue]
      )
    }
  }

  private func write<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws -> Value {
    do {
      return try await store.write(body)
    } catch let error as DatabaseError {
      throw StoreUnavailable(reason: "\(error)")
    }
  }
}
