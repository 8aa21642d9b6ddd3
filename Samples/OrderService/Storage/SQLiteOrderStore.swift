import GRDB
public import OrderWorkflow
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Orders in an SQLite file, for one program at a time.
///
/// ```swift
/// let store = try SQLiteOrderStore(path: "orders.sqlite")
/// try await store.deliver(Item(sku: "tea", name: "Tea", price: Money(450), stock: 1_000))
/// ```
///
/// The file is in WAL mode, so that reading waits for nothing, and each commit is on the disk before it
/// counts, so that neither `kill -9` nor a loss of power takes away what was acknowledged. A program
/// that opens the file has it for itself until it ends: the kernel takes its lock back, however it ends.
public final class SQLiteOrderStore: OrderStore {
  /// The file.
  public let path: String

  let pool: DatabasePool
  private let writes: GroupCommit
  private let unreadable = Mutex<[OrderID: String]>([:])
  /// Holds the lock of the program.
  private let lock: DatabaseQueue
  /// The database, its log, and the lock.
  private let files: [FileIdentity]

  /// Opens a file, and makes it when there is none.
  ///
  /// - Parameter path: The file; SQLite puts others next to it, whose names begin like its own.
  /// - Throws: ``StoreInUse`` when another program has it; ``StoreHasOtherNames`` when the file has
  ///   several names; ``StoreNotOpened`` when there is no folder for it, something else is there, or it
  ///   can't be read or written.
  public init(path: String) throws {
    self.path = path
    // A file has one lock, under whatever name it is opened.
    let file = try SQLiteFile.checked(path)
    do {
      lock = try Self.lock(file, as: path)
      // There are none of a file that isn't there yet.
      let attributes = try? FileManager.default.attributesOfItem(atPath: file)
      if let count = attributes?[.referenceCount] as? Int, count > 1 {
        throw StoreHasOtherNames(path: path)
      }
      pool = try DatabasePool(path: file, configuration: Self.configuration)
      // After opening: GRDB sets NORMAL itself in WAL mode, after all that a configuration prepares.
      try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
      try OrderSchema.migrator.migrate(pool)
      files = ["", "-wal", "-program"].compactMap { FileIdentity(file + $0) }
    } catch let error as DatabaseError {
      throw StoreNotOpened(path: path, reason: error.message ?? "\(error)")
    }
    writes = GroupCommit(pool)
  }

  static var configuration: Configuration {
    var configuration = Configuration()
    configuration.busyMode = .timeout(5)
    // A reader that takes long lets the log grow; after it, the log is cut to this again.
    configuration.prepareDatabase { database in
      try database.execute(sql: "PRAGMA journal_size_limit = \(logLimit)")
    }
    return configuration
  }

  /// The size in bytes to which the log beside the file is cut when all of it is in the file.
  static let logLimit = 16 << 20

  /// Keeps a transaction open in a file beside the database: no other program can begin one there.
  private static func lock(_ file: String, as path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    do {
      let queue = try DatabaseQueue(path: file + "-program", configuration: configuration)
      try queue.inDatabase { try $0.execute(sql: "BEGIN EXCLUSIVE") }
      return queue
    } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
      throw StoreInUse(path: path)
    }
  }

  // MARK: Reading and writing

  func read<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws -> Value {
    try checkFiles()
    return try await pool.read(body)
  }

  func write<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws -> Value {
    try checkFiles()
    do {
      let value = try await writes.write(body)
      // Afterwards as well: what is acknowledged is in a file that has a name.
      try checkFiles()
      return value
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      throw StoreContradiction(reason: error.message ?? "\(error)")
    }
  }

  private func checkFiles() throws {
    if !files.allSatisfy(\.isThere) { throw StoreFileRemoved(path: path) }
  }

  /// Closes the file, with all that was written in it, and none beside it.
  ///
  /// Until then, what was written last is in the log beside the file. Nothing may be read or written
  /// afterwards.
  ///
  /// - Throws: `DatabaseError`, when something is still being read or written; nothing is lost then.
  public func close() throws {
    try pool.close()
    // The pool closes what only reads last, which can't bring the log into the file.
    let last = try DatabaseQueue(path: pool.path, configuration: Self.configuration)
    _ = try last.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") }
    try last.close()
    try lock.close()
  }

  /// Writes what is there already.
  public func probe() async throws {
    try await write { database in
      try database.execute(
        sql: "UPDATE item SET stock = stock WHERE sku = (SELECT min(sku) FROM item)"
      )
    }
  }

  // MARK: The shop

  /// Puts items on the shelf: a new one, or more of one that the shop has already.
  ///
  /// - Parameter item: Its `stock` is how many come in; name and price take the place of older ones.
  /// - Throws: `DatabaseError`, also for a price or a number that is out of bounds.
  public func deliver(_ item: Item) async throws {
    try await writes.write { database in
      try database.execute(
        sql: """
          INSERT INTO item (sku, name, price, currency, delivered, stock)
          VALUES (?1, ?2, ?3, ?4, ?5, ?5)
          ON CONFLICT (sku) DO UPDATE SET name = ?2, price = ?3, currency = ?4,
            delivered = delivered + ?5, stock = stock + ?5
          """,
        arguments: [item.sku, item.name, item.price.minorUnits, item.price.currency, item.stock]
      )
    }
  }

  /// What the shop sells, in the order of the numbers.
  public func items() async throws -> [Item] {
    try await read { database in
      try Row.fetchAll(
        database.cachedStatement(
          sql: "SELECT sku, name, price, currency, stock FROM item ORDER BY sku"
        )
      )
      .map { Item(sku: $0[0], name: $0[1], price: Money($0[2], $0[3]), stock: $0[4]) }
    }
  }

  // MARK: Orders

  /// Keeps an order with its lines, unless there is one with the same key.
  public func accept(_ draft: OrderDraft, id: OrderID, key: String) async throws -> Submission {
    try await write { database in
      if let order = try Order.fetch("requestKey = ?", [key], in: database).first {
        return Submission(order: order, isNew: false)
      }
      let now = Int64((Date().timeIntervalSince1970 * 1_000).rounded())
      try database.execute(
        sql: """
          INSERT INTO orders (id, requestKey, customer, cardToken, acceptedAt, state)
          VALUES (?, ?, ?, ?, ?, 'open')
          """,
        arguments: [
          id.rawValue, key, draft.customer, draft.cardToken, now,
        ]
      )
      for (position, line) in draft.lines.enumerated() {
        try database.execute(
          sql: "INSERT INTO orderLine (orderID, position, sku, quantity) VALUES (?, ?, ?, ?)",
          arguments: [id.rawValue, position, line.sku, line.quantity]
        )
      }
      let time = Date(timeIntervalSince1970: Double(now) / 1_000)
      let order = Order(id: id, key: key, draft: draft, acceptedAt: time)
      return Submission(order: order, isNew: true)
    }
  }

  /// The order with an ID.
  public func order(_ id: OrderID) async throws -> Order? {
    try await read { try Order.fetch("id = ?", [id.rawValue], in: $0).first }
  }

  /// The order with a key.
  public func order(forKey key: String) async throws -> Order? {
    try await read { try Order.fetch("requestKey = ?", [key], in: $0).first }
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
    try await read { database in
      try Order.fetchReadable("\(clauses) LIMIT ?", [max(limit, 0)], in: database).orders
    }
  }

  /// Orders that aren't final, the first accepted first: those that the last program has left.
  ///
  /// Stuck orders whose card may be charged are among them.
  public func takeUp() async throws -> [Order] {
    try await write { try $0.execute(sql: OrderSchema.resumeRefunds) }
    let reading = try await read { database in
      try Order.fetchReadable("state IN ('open', 'rolling back') ORDER BY number", [], in: database)
    }
    unreadable.withLock { $0 = reading.unreadable }
    return reading.orders
  }

  /// What is wrong with orders that were left alone.
  public var unreadableOrders: [OrderID: String] { unreadable.withLock { $0 } }

  /// Notes that an order is to be cancelled.
  public func requestCancel(of order: OrderID, because reason: String) async throws -> Bool {
    try await write { database in
      try database.execute(
        sql: """
          UPDATE orders SET cancelReason = coalesce(cancelReason, ?) WHERE id = ? AND state = 'open'
          """,
        arguments: [reason, order.rawValue]
      )
      return database.changesCount > 0
    }
  }
}
