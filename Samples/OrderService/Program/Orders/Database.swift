import ArgumentParser
import OrderStorage
import OrderWorkflow

/// The database that `--database` names: a file for one program, or a server for many.
enum Database {
  /// Whether a name is the URL of a PostgreSQL server.
  static func isServer(_ name: String) -> Bool {
    name.hasPrefix("postgres://") || name.hasPrefix("postgresql://")
  }

  /// Opens a database, and fills the shelves of a shop that sells nothing yet.
  static func open(
    _ name: String,
    instance: String,
    heartbeat: Duration
  ) async throws -> any ShopStore {
    guard isServer(name) else {
      let store = try SQLiteOrderStore(path: name)
      if try await store.items().isEmpty {
        for item in assortment { try await store.deliver(item) }
      }
      return store
    }
    #if PostgreSQL
    let store = try await patiently {
      try await PostgreSQLOrderStore(url: name, instance: instance, heartbeat: heartbeat)
    }
    if try await store.items().isEmpty { try await store.stock(assortment) }
    return store
    #else
    throw noPostgreSQL
    #endif
  }

  /// Compares a database with the ledger of the provider.
  static func audit(
    _ name: String,
    ledger: () async throws -> OrderAudit.Ledger
  ) async throws -> OrderAudit {
    guard isServer(name) else { return try await OrderAudit(of: name, ledger: ledger) }
    #if PostgreSQL
    return try await OrderAudit(ofServer: name, ledger: ledger)
    #else
    throw noPostgreSQL
    #endif
  }

  #if PostgreSQL
  /// Waits for a server that is being started, for half a minute.
  private static func patiently<Value>(_ body: () async throws -> Value) async throws -> Value {
    for _ in 0..<60 {
      do {
        return try await body()
      } catch let error as PostgreSQLError where error.isConnectionLost {
        try await Task.sleep(for: .milliseconds(500))
      }
    }
    return try await body()
  }
  #else
  private static let noPostgreSQL = ValidationError(
    "This program was built without PostgreSQL: build it with --traits PostgreSQL."
  )
  #endif

  /// What the shop sells at first.
  private static let assortment = [
    ("BOOK", "Book of patterns", 3_450), ("CHALK", "Chalk, a box", 420),
    ("LAMP", "Desk lamp", 5_900), ("MUG", "Mug, large", 1_250), ("TEE", "T-shirt", 1_999),
  ]
  .map { sku, name, price in
    Item(sku: sku, name: name, price: Money(price), stock: 100_000)
  }
}
