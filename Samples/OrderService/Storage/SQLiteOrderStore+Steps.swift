import GRDB
public import OrderWorkflow

extension SQLiteOrderStore {
  /// Notes that a step may have an effect from now on.
  public func begin(_ step: OrderStep, of order: OrderID) async throws {
    try await write { database in
      try database.mustBeOpen(order)
      try database.execute(
        sql: """
          INSERT INTO step (orderID, key, state) VALUES (?, ?, 'begun')
          ON CONFLICT (orderID, key) DO NOTHING
          """,
        arguments: [order.rawValue, step.key]
      )
    }
  }

  /// The value of a step that is done.
  public func value(of step: OrderStep, of order: OrderID) async throws -> String? {
    try await read { try $0.value(of: step, of: order) }
  }

  /// Keeps the value of a step.
  public func record(_ value: String, of step: OrderStep, of order: OrderID) async throws {
    try await write { database in
      // A step that is done together with its effect is recorded already.
      if try database.value(of: step, of: order) == value { return }
      try database.mustBeOpen(order)
      try database.record(value, of: step, of: order)
    }
  }

  /// Sets items aside for an order, and notes the step as done, in one transaction.
  public func reserve(_ line: OrderLine, for order: OrderID) async throws {
    let step = OrderStep.reserve(sku: line.sku)
    try await write { database in
      if try database.value(of: step, of: order) != nil { return }
      try database.mustBeOpen(order)
      try database.execute(
        sql: "UPDATE item SET stock = stock - ?2 WHERE sku = ?1 AND stock >= ?2",
        arguments: [line.sku, line.quantity]
      )
      if database.changesCount == 0 {
        let stock = try Int.fetchOne(
          database,
          sql: "SELECT stock FROM item WHERE sku = ?",
          arguments: [line.sku]
        )
        throw OutOfStock(sku: line.sku, stock: stock ?? 0, needed: line.quantity)
      }
      try database.execute(
        sql: "INSERT INTO reservation (orderID, sku, quantity) VALUES (?, ?, ?)",
        arguments: [order.rawValue, line.sku, line.quantity]
      )
      try database.record("true", of: step, of: order)
    }
  }

  /// Marks an order as confirmed, and the step as done, in one transaction.
  public func confirm(_ order: OrderID) async throws {
    try await write { database in
      if try database.state(of: order) == "confirmed" { return }
      try database.mustBeOpen(order)
      let reason = try String.fetchOne(
        database.cachedStatement(sql: "SELECT cancelReason FROM orders WHERE id = ?"),
        arguments: [order.rawValue]
      )
      if let reason { throw OrderCancelled(reason: reason) }
      try database.record("true", of: .confirm, of: order)
      try database.execute(
        sql: "UPDATE orders SET state = 'confirmed' WHERE id = ?",
        arguments: [order.rawValue]
      )
    }
  }
}

extension Database {
  /// Throws unless the steps of an order may go on.
  func mustBeOpen(_ order: OrderID) throws {
    guard try state(of: order) == "open" else { throw RollbackHasBegun(order: order) }
  }

  func state(of order: OrderID) throws -> String? {
    try String.fetchOne(
      cachedStatement(sql: "SELECT state FROM orders WHERE id = ?"),
      arguments: [order.rawValue]
    )
  }

  func value(of step: OrderStep, of order: OrderID) throws -> String? {
    try String.fetchOne(
      cachedStatement(sql: "SELECT value FROM step WHERE orderID = ? AND key = ?"),
      arguments: [order.rawValue, step.key]
    )
  }

  /// Writes the value of a step, which was not done before.
  fileprivate func record(_ value: String, of step: OrderStep, of order: OrderID) throws {
    try execute(
      sql: """
        INSERT INTO step (orderID, key, state, value) VALUES (?, ?, 'done', ?)
        ON CONFLICT (orderID, key) DO UPDATE SET state = 'done', value = excluded.value
        """,
      arguments: [order.rawValue, step.key, value]
    )
  }
}
