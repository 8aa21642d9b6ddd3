#if PostgreSQL
public import OrderWorkflow
import Synchronization

extension PostgreSQLOrderStore: OrderLeases {
  /// Says that this instance lives, and finds the orders that others have taken.
  public func beat() async throws -> [OrderID] {
    let (instance, leases) = (instance, held.withLock { $0 })
    let list = try leases.map { Lease(id: $0.key.rawValue, epoch: $0.value) }.json
    return try await pool.write { connection in
      try connection.execute(
        """
        INSERT INTO instance (name, beatAt) VALUES ($1, clock_timestamp())
        ON CONFLICT (name) DO UPDATE SET beatAt = clock_timestamp()
        """,
        [instance]
      )
      return try connection.execute(
        """
        SELECT id FROM json_to_recordset($1::json) AS mine (id text, epoch bigint)
        JOIN orders USING (id) WHERE orders.epoch <> mine.epoch
        """,
        [list]
      )
      .rows.compactMap { $0[0].map { OrderID(rawValue: $0) } }
    }
  }

  /// Takes orders of instances that have missed two heartbeats, and what was left.
  public func takeOver(limit: Int) async throws -> [Order] {
    try await take(limit: limit, sparesOwn: true)
  }

  /// Nothing of an order goes on here any more.
  public func leave(_ order: OrderID) { held.withLock { _ = $0.removeValue(forKey: order) } }

  /// Others may take the orders of this instance at once.
  public func resign() async throws {
    let instance = instance
    try await pool.write { connection in
      try connection.execute("DELETE FROM instance WHERE name = $1", [instance])
    }
  }

  /// Says when an order may have ended.
  public func signals(of order: OrderID) -> AsyncStream<Void> {
    listener.signals(for: order.rawValue)
  }

  /// Takes the orders that no living instance works on.
  ///
  /// - Parameters:
  ///   - limit: How many at most.
  ///   - sparesOwn: Whether those that go on here are left alone.
  /// - Returns: The orders, which this instance holds from now on.
  /// - Throws: ``PostgreSQLError``; an error of decoding.
  func take(limit: Int, sparesOwn: Bool) async throws -> [Order] {
    let (instance, heartbeat) = (instance, heartbeat)
    let known = sparesOwn ? held.withLock { Array($0.keys) } : []
    let list = try known.map(\.rawValue).json
    let (orders, leases) = try await pool.write { [self] connection in
      let free = try connection.abandonedOrders(instance, heartbeat, except: list, limit: limit)
      // One that was accepted since the list was made is noted before it can be seen.
      let own = held.withLock { held in sparesOwn ? Set(held.keys.map(\.rawValue)) : [] }
      let ids = try free.filter { !own.contains($0) }.json
      let leases = try connection.execute(
        """
        UPDATE orders SET holder = $1, epoch = epoch + 1
        WHERE id IN (SELECT json_array_elements_text($2::json)) RETURNING id, epoch
        """,
        [instance, ids]
      )
      .rows.map { Lease(id: $0[0] ?? "", epoch: $0[1].flatMap { Int($0) } ?? 0) }
      let orders = try Order.fetch(
        "id IN (SELECT json_array_elements_text($1::json)) ORDER BY number",
        [ids],
        on: connection
      )
      return (orders, leases)
    }
    held.withLock { held in
      for lease in leases { held[OrderID(rawValue: lease.id)] = lease.epoch }
    }
    return orders
  }
}

extension PostgreSQLConnection {
  /// Locks orders that aren't final and that no living instance holds; skips what others have locked.
  fileprivate func abandonedOrders(
    _ instance: String,
    _ heartbeat: Duration,
    except list: String,
    limit: Int
  ) throws -> [String] {
    try execute(
      """
      SELECT id FROM orders
      WHERE state IN ('open', 'rolling back') AND (
        holder IS NULL OR holder = $1 OR NOT EXISTS (
          SELECT FROM instance WHERE name = holder
            AND beatAt > clock_timestamp() - $2::double precision * interval '1 second'
        )
      ) AND id NOT IN (SELECT json_array_elements_text($3::json))
      ORDER BY number LIMIT $4::bigint FOR UPDATE SKIP LOCKED
      """,
      [instance, "\(LeaseTable.patience(heartbeat) / .seconds(1))", list, "\(max(limit, 0))"]
    )
    .rows.compactMap { $0[0] }
  }
}

/// An order, and the epoch of its lease.
private struct Lease: Codable, Sendable {
  let id: String
  let epoch: Int
}
#endif
