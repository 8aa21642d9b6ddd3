#if PostgreSQL
public import OrderWorkflow

extension PostgreSQLOrderStore {
  /// Notes why an order is rolled back, before anything is undone.
  public func beginRollback(
    of order: OrderID,
    because failure: OrderFailure
  ) async throws -> Bool {
    let text = try failure.json
    return try await write(about: order) { connection, state in
      if state == "rolling back" { return true }
      guard state == "open" else { return false }
      try connection.execute(
        "UPDATE orders SET state = 'rolling back', failure = $2 WHERE id = $1",
        [order.rawValue, text]
      )
      return true
    }
  }

  /// Puts items back that were set aside, and notes the step as undone, in one transaction.
  public func release(_ line: OrderLine, of order: OrderID) async throws {
    try await write(about: order) { connection, _ in
      let quantity = try connection.execute(
        "DELETE FROM reservation WHERE orderID = $1 AND sku = $2 RETURNING quantity",
        [order.rawValue, line.sku]
      )
      .value
      if let quantity {
        try connection.execute(
          "UPDATE item SET stock = stock + $2 WHERE sku = $1",
          [line.sku, quantity]
        )
      }
      try connection.undone(.reserve(sku: line.sku), of: order)
    }
  }

  /// Notes a step as undone.
  public func undone(_ step: OrderStep, of order: OrderID) async throws {
    try await write(about: order) { connection, _ in try connection.undone(step, of: order) }
  }

  /// Marks an order that was being rolled back as failed or cancelled.
  public func finishRollback(of order: OrderID, problems: [String]) async throws {
    let text = problems.isEmpty ? nil : try problems.json
    try await write(about: order) { connection, _ in
      try connection.execute(
        """
        UPDATE orders SET problems = $2, holder = NULL, state = CASE
          WHEN $2::text IS NOT NULL THEN 'stuck'
          WHEN failure::json ->> 'kind' = 'cancelled' THEN 'cancelled'
          ELSE 'failed'
        END
        WHERE id = $1 AND state = 'rolling back'
        """,
        [order.rawValue, text]
      )
      try connection.announceEnd(of: order)
    }
  }
}

extension PostgreSQLConnection {
  fileprivate func undone(_ step: OrderStep, of order: OrderID) throws {
    try execute(
      "UPDATE step SET state = 'undone', value = NULL WHERE orderID = $1 AND key = $2",
      [order.rawValue, step.key]
    )
  }
}
#endif
