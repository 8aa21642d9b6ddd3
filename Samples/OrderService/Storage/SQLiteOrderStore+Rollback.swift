import GRDB
public import OrderWorkflow

extension SQLiteOrderStore {
  /// Notes why an order is rolled back, before anything is undone.
  public func beginRollback(
    of order: OrderID,
    because failure: OrderFailure
  ) async throws -> Bool {
    let text = try failure.json
    return try await write { database in
      try database.execute(
        sql: """
          UPDATE orders SET state = 'rolling back', failure = ? WHERE id = ? AND state = 'open'
          """,
        arguments: [text, order.rawValue]
      )
      return try database.state(of: order) == "rolling back"
    }
  }

  /// Puts items back that were set aside, and notes the step as undone, in one transaction.
  public func release(_ line: OrderLine, of order: OrderID) async throws {
    try await write { database in
      let quantity = try Int.fetchOne(
        database,
        sql: "DELETE FROM reservation WHERE orderID = ? AND sku = ? RETURNING quantity",
        arguments: [order.rawValue, line.sku]
      )
      if let quantity {
        try database.execute(
          sql: "UPDATE item SET stock = stock + ? WHERE sku = ?",
          arguments: [quantity, line.sku]
        )
      }
      try database.undone(.reserve(sku: line.sku), of: order)
    }
  }

  /// Notes a step as undone.
  public func undone(_ step: OrderStep, of order: OrderID) async throws {
    try await write { try $0.undone(step, of: order) }
  }

  /// Marks an order that was being rolled back as failed or cancelled.
  public func finishRollback(of order: OrderID, problems: [String]) async throws {
    let text = problems.isEmpty ? nil : try problems.json
    try await write { database in
      try database.execute(
        sql: """
          UPDATE orders SET problems = ?1, state = CASE
            WHEN ?1 IS NOT NULL THEN 'stuck'
            WHEN failure ->> 'kind' = 'cancelled' THEN 'cancelled'
            ELSE 'failed'
          END
          WHERE id = ?2 AND state = 'rolling back'
          """,
        arguments: [text, order.rawValue]
      )
    }
  }
}

extension Database {
  fileprivate func undone(_ step: OrderStep, of order: OrderID) throws {
    try execute(
      sql: "UPDATE step SET state = 'undone', value = NULL WHERE orderID = ? AND key = ?",
      arguments: [order.rawValue, step.key]
    )
  }
}
