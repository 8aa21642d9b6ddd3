import GRDB
public import OrderWorkflow

extension SQLiteOrderStore: ParcelBook {
  /// Notes that a parcel is sent, unless one was for the order.
  public func sendParcel(for order: OrderID) async throws -> String {
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

  /// Notes that a parcel is called back, and that none is to be sent any more.
  public func callBackParcel(of order: OrderID) async throws {
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
}
