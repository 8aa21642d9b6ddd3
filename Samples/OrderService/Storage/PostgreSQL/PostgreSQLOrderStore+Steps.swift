#if PostgreSQL
public import OrderWorkflow
import Synchronization

extension PostgreSQLOrderStore: ParcelBook {
  /// Makes a transaction about an order that this instance holds.
  ///
  /// The order's row stays locked until its end, so that the lease can't change hands meanwhile.
  ///
  /// - Parameters:
  ///   - order: The order.
  ///   - body: Gets the state of the order.
  /// - Returns: What the body returns.
  /// - Throws: `LeaseLost`, `StoreContradiction`, ``PostgreSQLError``; what the body throws.
  @discardableResult
  func write<Value: Sendable>(
    about order: OrderID,
    _ body: @escaping @Sendable (PostgreSQLConnection, _ state: String) throws -> Value
  ) async throws -> Value {
    let epoch = held.withLock { $0[order] }
    do {
      return try await pool.write { connection in
        let row = try connection.execute(
          "SELECT state, epoch FROM orders WHERE id = $1 FOR UPDATE",
          [order.rawValue]
        )
        .rows.first
        guard let row, let state = row[0], let epoch, row[1] == "\(epoch)" else {
          throw LeaseLost(order: order)
        }
        return try body(connection, state)
      }
    } catch let error as PostgreSQLError where error.isContradiction {
      throw StoreContradiction(reason: error.message)
    }
  }

  /// Notes that a step may have an effect from now on.
  public func begin(_ step: OrderStep, of order: OrderID) async throws {
    try await write(about: order) { connection, state in
      guard state == "open" else { throw RollbackHasBegun(order: order) }
      try connection.execute(
        """
        INSERT INTO step (orderID, key, state) VALUES ($1, $2, 'begun')
        ON CONFLICT (orderID, key) DO NOTHING
        """,
        [order.rawValue, step.key]
      )
    }
  }

  /// The value of a step that is done.
  public func value(of step: OrderStep, of order: OrderID) async throws -> String? {
    try await pool.read { try $0.value(of: step, of: order) }
  }

  /// Keeps the value of a step.
  public func record(_ value: String, of step: OrderStep, of order: OrderID) async throws {
    try await write(about: order) { connection, state in
      // A step that is done together with its effect is recorded already.
      if try connection.value(of: step, of: order) == value { return }
      guard state == "open" else { throw RollbackHasBegun(order: order) }
      try connection.record(value, of: step, of: order)
    }
  }

  /// Sets items aside for an order, and notes the step as done, in one transaction.
  public func reserve(_ line: OrderLine, for order: OrderID) async throws {
    let step = OrderStep.reserve(sku: line.sku)
    try await write(about: order) { connection, state in
      if try connection.value(of: step, of: order) != nil { return }
      guard state == "open" else { throw RollbackHasBegun(order: order) }
      let taken = try connection.execute(
        "UPDATE item SET stock = stock - $2 WHERE sku = $1 AND stock >= $2",
        [line.sku, "\(line.quantity)"]
      )
      if taken.count == 0 {
        let stock = try connection.execute("SELECT stock FROM item WHERE sku = $1", [line.sku])
        throw OutOfStock(
          sku: line.sku,
          stock: stock.value.flatMap { Int($0) } ?? 0,
          needed: line.quantity
        )
      }
      try connection.execute(
        "INSERT INTO reservation (orderID, sku, quantity) VALUES ($1, $2, $3)",
        [order.rawValue, line.sku, "\(line.quantity)"]
      )
      try connection.record("true", of: step, of: order)
    }
  }

  /// Marks an order as confirmed, and the step as done, in one transaction.
  public func confirm(_ order: OrderID) async throws {
    try await write(about: order) { connection, state in
      if state == "confirmed" { return }
      guard state == "open" else { throw RollbackHasBegun(order: order) }
      let reason = try connection.execute(
        "SELECT cancelReason FROM orders WHERE id = $1",
        [order.rawValue]
      )
      .value
      if let reason { throw OrderCancelled(reason: reason) }
      try connection.record("true", of: .confirm, of: order)
      try connection.execute(
        "UPDATE orders SET state = 'confirmed', holder = NULL WHERE id = $1",
        [order.rawValue]
      )
      try connection.announceEnd(of: order)
    }
  }

  // MARK: Parcels

  /// Notes that a parcel is sent, unless one was for the order.
  public func sendParcel(for order: OrderID) async throws -> String {
    try await write(about: order) { connection, state in
      let parcel = try connection.execute(
        "SELECT number FROM parcel WHERE orderID = $1",
        [order.rawValue]
      )
      if let row = parcel.rows.first {
        guard let number = row[0] else { throw RollbackHasBegun(order: order) }
        return number
      }
      guard state == "open" else { throw RollbackHasBegun(order: order) }
      let number = "P-\(order)"
      try connection.execute(
        "INSERT INTO parcel (orderID, number) VALUES ($1, $2)",
        [order.rawValue, number]
      )
      return number
    }
  }

  /// Notes that a parcel is called back, and that none is to be sent any more.
  public func callBackParcel(of order: OrderID) async throws {
    try await write(about: order) { connection, _ in
      try connection.execute(
        """
        INSERT INTO parcel (orderID, number) VALUES ($1, NULL)
        ON CONFLICT (orderID) DO UPDATE SET number = NULL
        """,
        [order.rawValue]
      )
    }
  }
}

extension PostgreSQLConnection {
  fileprivate func value(of step: OrderStep, of order: OrderID) throws -> String? {
    try execute(
      "SELECT value FROM step WHERE orderID = $1 AND key = $2",
      [order.rawValue, step.key]
    )
    .value
  }

  /// Writes the value of a step, which was not done before.
  fileprivate func record(_ value: String, of step: OrderStep, of order: OrderID) throws {
    try execute(
      """
      INSERT INTO step (orderID, key, state, value) VALUES ($1, $2, 'done', $3)
      ON CONFLICT (orderID, key) DO UPDATE SET state = 'done', value = excluded.value
      """,
      [order.rawValue, step.key, value]
    )
  }

  /// Wakes requests that wait for an order, in all instances, when the transaction is committed.
  func announceEnd(of order: OrderID) throws { try announce(order.rawValue) }

  /// Wakes what waits for a name, in all instances, when the transaction is committed.
  func announce(_ name: String) throws {
    try execute("SELECT pg_notify($1, $2)", [PostgreSQLListener.channel, name])
  }
}
#endif
