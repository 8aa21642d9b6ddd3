#if PostgreSQL
public import OrderWorkflow
import Synchronization

extension PostgreSQLOrderStore: OrderLeases {
  /// Says that this instance lives, and finds the orders that others have taken.
  public func beat() async throws -> [OrderID] {
    let (instance, leases) = (instance, held.withLock { $0 })
    let list = try leases.map { Lease(id: $0.key.rawValue, epoch: $0.value) }.json
    let gap = LeaseTable.regularity(heartbeat) / .seconds(1)
    return try await leasePool.write { connection in
      // As `LeaseTable.beat` does it.
      try connection.execute(
        """
        INSERT INTO instance (name, beatAt, beatsSince)
        VALUES ($1, clock_timestamp(), clock_timestamp())
        ON CONFLICT (name) DO UPDATE SET beatAt = clock_timestamp(), beatsSince = CASE
          WHEN instance.beatAt BETWEEN
            clock_timestamp() - $2::double precision * interval '1 second' AND clock_timestamp()
          THEN instance.beatsSince ELSE clock_timestamp()
        END
        """,
        [instance, "\(gap)"]
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

  /// The orders of this instance for which a cancel was noted.
  public func requestedCancels() async throws -> [OrderID: String] {
    let instance = instance
    return try await leasePool.read { connection in
      try connection.execute(
        """
        SELECT id, cancelReason FROM orders
        WHERE state IN ('open', 'rolling back') AND holder = $1 AND cancelReason IS NOT NULL
          AND state = 'open'
        """,
        [instance]
      )
      .rows.reduce(into: [:]) { $0[OrderID(rawValue: $1[0] ?? "")] = $1[1] }
    }
  }

  /// Says when a cancel of an order of this instance was noted, or may have been.
  public var cancelSignals: AsyncStream<Void> {
    listener.signals(for: Self.cancelName(instance))
  }

  /// What is announced when a cancel of an order of an instance was noted.
  private static func cancelName(_ instance: String) -> String { "cancel at \(instance)" }

  /// Notes that an order is to be cancelled, and wakes the instance that holds it.
  public func requestCancel(of order: OrderID, because reason: String) async throws -> Bool {
    try await pool.write { connection in
      let rows = try connection.execute(
        """
        UPDATE orders SET cancelReason = coalesce(cancelReason, $2)
        WHERE id = $1 AND state = 'open' RETURNING holder
        """,
        [order.rawValue, reason]
      )
      .rows
      guard let row = rows.first else { return false }
      if let holder = row[0] { try connection.announce(Self.cancelName(holder)) }
      return true
    }
  }

  /// What is wrong with orders that were left alone.
  public var unreadableOrders: [OrderID: String] { unreadable.withLock { $0 } }

  /// Takes orders of instances that have missed two heartbeats, and what was left.
  ///
  /// The first only after this instance has been heard for so long without a gap.
  public func takeOver(limit: Int) async throws -> [Order] {
    try await take(limit: limit, sparesOwn: true)
  }

  /// Nothing of an order goes on here any more.
  public func leave(_ order: OrderID) { held.withLock { _ = $0.removeValue(forKey: order) } }

  /// Others may take the orders of this instance at once.
  public func resign() async throws {
    let instance = instance
    try await leasePool.write { connection in
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
  /// - Throws: ``PostgreSQLError``.
  func take(limit: Int, sparesOwn: Bool) async throws -> [Order] {
    let (instance, heartbeat) = (instance, heartbeat)
    let known = sparesOwn ? held.withLock { Array($0.keys) } : []
    let list = try known.map(\.rawValue).json
    // Those that can't be read are looked at again, and keep no others from being found.
    let rowLimit = min(limit, .max / 2) + unreadable.withLock { $0.count }
    let (reading, leases) = try await leasePool.write { [self] connection in
      let free = try connection.abandonedOrders(instance, heartbeat, except: list, limit: rowLimit)
      // One that was accepted since the list was made is noted before it can be seen.
      let own = held.withLock { held in sparesOwn ? Set(held.keys.map(\.rawValue)) : [] }
      let reading = try Order.fetchReadable(
        "id IN (SELECT json_array_elements_text($1::json)) ORDER BY number",
        [try free.filter { !own.contains($0) }.json],
        on: connection
      )
      let ids = try reading.orders.map(\.id.rawValue).json
      let leases = try connection.execute(
        """
        UPDATE orders SET holder = $1, epoch = epoch + 1
        WHERE id IN (SELECT json_array_elements_text($2::json)) RETURNING id, epoch
        """,
        [instance, ids]
      )
      .rows.map { Lease(id: $0[0] ?? "", epoch: $0[1].flatMap { Int($0) } ?? 0) }
      return (reading, leases)
    }
    unreadable.withLock { $0 = reading.unreadable }
    held.withLock { held in
      for lease in leases { held[OrderID(rawValue: lease.id)] = lease.epoch }
    }
    return reading.orders.map { order in
      var order = order
      order.holder = instance
      return order
    }
  }
}

extension PostgreSQLConnection {
  /// Locks orders that aren't final and that no living instance holds; skips what others have locked.
  ///
  /// As `LeaseTable.take` decides it.
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
        holder IS NULL OR holder = $1
        OR NOT EXISTS (SELECT FROM instance WHERE name = holder)
        OR EXISTS (
          SELECT FROM instance WHERE name = $1
            AND beatsSince <= clock_timestamp() - $2::double precision * interval '1 second'
        ) AND NOT EXISTS (
          SELECT FROM instance WHERE name = holder
            AND beatAt > clock_timestamp() - $2::double precision * interval '1 second'
            AND beatAt < clock_timestamp() + $3::double precision * interval '1 second'
        )
      ) AND id NOT IN (SELECT json_array_elements_text($4::json))
      ORDER BY number LIMIT $5::bigint FOR UPDATE SKIP LOCKED
      """,
      [
        instance, "\(LeaseTable.patience(heartbeat) / .seconds(1))",
        "\(heartbeat / .seconds(1))", list, "\(max(limit, 0))",
      ]
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
