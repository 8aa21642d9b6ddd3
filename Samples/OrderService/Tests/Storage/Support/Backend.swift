import Foundation
import GRDB
import OrderWorkflow
import Testing

@testable import OrderStorage

/// What keeps the orders: the same tests are for both.
enum Backend: String, CustomTestStringConvertible {
  case sqlite = "SQLite"
  case postgreSQL = "PostgreSQL"

  var testDescription: String { rawValue }

  /// The URL of a server for tests, which `Tests/postgresql-server` starts; nil without one.
  static let server = ProcessInfo.processInfo.environment["ORDERS_POSTGRESQL"]

  /// Those that can be tried here.
  static var here: [Backend] {
    #if PostgreSQL
    if server != nil { return [.sqlite, .postgreSQL] }
    #endif
    return [.sqlite]
  }

  /// An empty database, which goes away with its value.
  func database() async throws -> ShopDatabase {
    switch self {
    case .sqlite:
      let database = try TemporaryDatabase()
      return ShopDatabase {
        try await database.reopen()
      } audit: { charges in
        try await OrderAudit(of: database.path) { OrderAudit.Ledger(try await charges()) }
      } change: { sql in
        let queue = try DatabaseQueue(path: database.path)
        try await queue.writeWithoutTransaction { try $0.execute(sql: sql) }
      }
    case .postgreSQL:
      #if PostgreSQL
      let schema = try await TemporarySchema(url: try #require(Self.server))
      return ShopDatabase {
        try await schema.open()
      } audit: { charges in
        try await OrderAudit(ofServer: schema.url) { OrderAudit.Ledger(try await charges()) }
      } change: { sql in
        try await PostgreSQLPool(url: schema.url, connections: 1).write { connection in
          try connection.run(script: sql)
        }
      }
      #else
      throw CancellationError()
      #endif
    }
  }
}

/// A database of some kind.
struct ShopDatabase {
  /// The database as a program opens it.
  let open: () async throws -> any ShopStore
  /// What must hold in it.
  let audit: (() async throws -> [OrderAudit.Charge]) async throws -> OrderAudit
  /// Executes a statement past all stores, as another program does.
  let change: (String) async throws -> Void

  /// A shop with so many packets of tea.
  func shop(tea: Int = 10) async throws -> any ShopStore {
    let store = try await open()
    try await store.deliver(Item(sku: "tea", name: "Tea", price: Money(450), stock: tea))
    return store
  }
}

#if PostgreSQL
/// A schema of its own on the server for tests.
final class TemporarySchema: Sendable {
  let url: String

  init(url: String) async throws {
    let name = "test_" + UUID().uuidString.replacing("-", with: "").lowercased()
    try await PostgreSQLPool(url: url, connections: 1).write { connection in
      try connection.run(script: "CREATE SCHEMA \(name)")
    }
    self.url = "\(url)?options=-csearch_path%3D\(name)"
  }

  /// An instance with a few connections.
  func open(
    _ instance: String = "one",
    heartbeat: Duration = .seconds(600)
  ) async throws -> PostgreSQLOrderStore {
    try await PostgreSQLOrderStore(
      url: url,
      instance: instance,
      heartbeat: heartbeat,
      connections: 2
    )
  }
}
#endif
