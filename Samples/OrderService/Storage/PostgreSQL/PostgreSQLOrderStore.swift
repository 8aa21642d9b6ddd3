#if PostgreSQL
import Foundation
public import OrderWorkflow
import Synchronization

/// Orders in a PostgreSQL database, which any number of instances share.
///
/// ```swift
/// let store = try await PostgreSQLOrderStore(
///   url: "postgres://orders@db.example/orders",
///   instance: "berlin-1"
/// )
/// ```
///
/// An order is leased: see `OrderLeases`. Each call is a transaction, in which the row of the order is
/// locked, and the epoch of its lease compared; stock is taken from the row of its item in the same
/// transaction that notes the step. Of two instances that want the last one, one waits and finds none.
public final class PostgreSQLOrderStore: OrderStore {
  /// What this instance is called.
  public let instance: String

  /// The time between two heartbeats.
  public let heartbeat: Duration

  let pool: PostgreSQLPool
  /// For heartbeats, which thousands of waiting orders must not delay.
  let leasePool: PostgreSQLPool
  let listener: PostgreSQLListener
  /// The orders of this instance, with the epochs of their leases.
  let held = Mutex<[OrderID: Int]>([:])
  let unreadable = Mutex<[OrderID: String]>([:])

  /// Connects to a database, and makes its tables unless they are there.
  ///
  /// - Parameters:
  ///   - url: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, and whatever else libpq takes.
  ///   - instance: The name of this instance. One with the name of another that lives takes its orders.
  ///   - heartbeat: The time between two heartbeats, the same for all instances.
  ///   - connections: How many orders share; one more listens, and one is for heartbeats.
  /// - Throws: ``PostgreSQLError``.
  public init(
    url: String,
    instance: String,
    heartbeat: Duration = .seconds(2),
    connections: Int = 8
  ) async throws {
    self.instance = instance
    self.heartbeat = heartbeat
    pool = PostgreSQLPool(url: url, connections: connections)
    leasePool = PostgreSQLPool(url: url, connections: 1)
    listener = PostgreSQLListener(url: url)
    try await pool.write { try PostgreSQLSchema.prepare($0) }
    _ = try await beat()
  }

  // MARK: The shop

  /// Puts items on the shelf: a new one, or more of one that the shop has already.
  ///
  /// - Parameter item: Its `stock` is how many come in; name and price take the place of older ones.
  /// - Throws: ``PostgreSQLError``, also for a price or a number that is out of bounds.
  public func deliver(_ item: Item) async throws {
    try await pool.write { connection in
      try connection.execute(
        """
        INSERT INTO item (sku, name, price, currency, delivered, stock)
        VALUES ($1, $2, $3, $4, $5, $5)
        ON CONFLICT (sku) DO UPDATE SET name = $2, price = $3, currency = $4,
          delivered = item.delivered + $5, stock = item.stock + $5
        """,
        [
          item.sku, item.name, "\(item.price.minorUnits)", item.price.currency, "\(item.stock)",
        ]
      )
    }
  }

  /// Puts the first items on the shelf of a shop that sells nothing yet; of several instances, one.
  ///
  /// - Parameter items: What the shop is to sell.
  /// - Throws: ``PostgreSQLError``.
  public func stock(_ items: [Item]) async throws {
    let list = try items.map { try $0.json }
    try await pool.write { connection in
      try connection.execute("LOCK TABLE item IN SHARE ROW EXCLUSIVE MODE")
      for item in list {
        try connection.execute(
          """
          INSERT INTO item (sku, name, price, currency, delivered, stock)
          SELECT i ->> 'sku', i ->> 'name', (i #>> '{price,minorUnits}')::bigint,
            i #>> '{price,currency}', (i ->> 'stock')::bigint, (i ->> 'stock')::bigint
          FROM (SELECT $1::json AS i) AS new
          ON CONFLICT (sku) DO NOTHING
          """,
          [item]
        )
      }
    }
  }

  /// What the shop sells, in the order of the numbers.
  public func items() async throws -> [Item] {
    try await pool.read { connection in
      try connection.execute(
        "SELECT sku, name, price, currency, stock FROM item ORDER BY sku COLLATE \"C\""
      )
      .rows.map { row in
        Item(
          sku: row[0] ?? "",
          name: row[1] ?? "",
          price: Money(row[2].flatMap { Int($0) } ?? 0, row[3] ?? ""),
          stock: row[4].flatMap { Int($0) } ?? 0
        )
      }
    }
  }

  /// Writes what is there already.
  public func probe() async throws {
    try await pool.write { connection in
      try connection.execute(
        "UPDATE item SET stock = stock WHERE sku = (SELECT min(sku) FROM item)"
      )
    }
  }

  // MARK: Orders

  /// Keeps an order with its lines, unless there is one with the same key; this instance holds it.
  public func accept(_ draft: OrderDraft, id: OrderID, key: String) async throws -> Submission {
    // Noted before: what is committed is ours from that moment on, and must not look abandoned.
    held.withLock { $0[id] = 1 }
    do {
      let submission = try await keep(draft, id: id, key: key)
      if !submission.isNew { leave(id) }
      return submission
    } catch {
      // If it was committed all the same, it is found among the orders that nothing works on.
      leave(id)
      throw error
    }
  }

  private func keep(_ draft: OrderDraft, id: OrderID, key: String) async throws -> Submission {
    let now = Int64((Date().timeIntervalSince1970 * 1_000).rounded())
    let lines = try draft.lines.json
    let instance = instance
    do {
      return try await pool.write { connection in
        let inserted = try connection.execute(
          """
          INSERT INTO orders (id, requestKey, customer, cardToken, acceptedAt, state, holder)
          VALUES ($1, $2, $3, $4, $5, 'open', $6)
          ON CONFLICT (requestKey) DO NOTHING
          """,
          [id.rawValue, key, draft.customer, draft.cardToken, "\(now)", instance]
        )
        if inserted.count == 0,
          let order = try Order.fetch("requestKey = $1", [key], on: connection).first
        {
          return Submission(order: order, isNew: false)
        }
        try connection.execute(
          """
          INSERT INTO orderLine (orderID, position, sku, quantity)
          SELECT $1, position, line ->> 'sku', (line ->> 'quantity')::bigint
          FROM json_array_elements($2::json) WITH ORDINALITY AS list (line, position)
          """,
          [id.rawValue, lines]
        )
        let time = Date(timeIntervalSince1970: Double(now) / 1_000)
        let order = Order(id: id, key: key, draft: draft, acceptedAt: time, holder: instance)
        return Submission(order: order, isNew: true)
      }
    } catch let error as PostgreSQLError where error.sqlState == PostgreSQLError.uniqueViolation {
      throw OrderIDTaken(id: id)
    }
  }

  /// The order with an ID.
  public func order(_ id: OrderID) async throws -> Order? {
    try await pool.read { try Order.fetch("id = $1", [id.rawValue], on: $0).first }
  }

  /// The order with a key.
  public func order(forKey key: String) async throws -> Order? {
    try await pool.read { try Order.fetch("requestKey = $1", [key], on: $0).first }
  }

  /// The latest orders, the last accepted first.
  public func orders(limit: Int) async throws -> [Order] {
    try await readableOrders("TRUE ORDER BY number DESC", limit: limit)
  }

  /// Orders that are rolled back or stuck while their card may be charged, the first accepted first.
  public func unsettledOrders(limit: Int) async throws -> [Order] {
    try await readableOrders("\(OrderSchema.isUnsettled) ORDER BY number", limit: limit)
  }

  /// The first of the orders that can be read.
  private func readableOrders(_ clauses: String, limit: Int) async throws -> [Order] {
    try await pool.read { connection in
      try Order.fetchReadable("\(clauses) LIMIT $1", ["\(max(limit, 0))"], on: connection).orders
    }
  }

  /// Orders that aren't final and that no other living instance works on; this one holds them now.
  ///
  /// Also those of an earlier instance with the same name: after its restart, nothing has to be waited
  /// for. Those of one with another name that is dead come later: see ``takeOver(limit:)``.
  /// Stuck orders whose card may be charged are among them.
  public func takeUp() async throws -> [Order] {
    try await leasePool.write { connection in
      try connection.execute(OrderSchema.resumeRefunds)
    }
    return try await take(limit: .max, sparesOwn: false)
  }
}
#endif
