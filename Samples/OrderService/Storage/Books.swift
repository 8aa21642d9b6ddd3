import GRDB
import OrderWorkflow

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a database says about its orders, in one unchanging view.
struct Books: Sendable {
  /// What there is of an order.
  struct Row: Sendable {
    let id: String
    let state: String
    /// The kind of its failure.
    let cause: String?
    /// What it costs, in the smallest unit of the currency; nil before it was validated.
    let total: Int?
  }

  private(set) var orders: [Row] = []
  private(set) var mistakes: [String] = []

  init(_ database: Database) throws {
    try readOrders(database)
    for rule in Self.rules {
      let rows = try GRDB.Row.fetchAll(database, sql: rule.sql)
      mistakes += rows.map { row in
        let name: String = row[0]
        return rule.mistake(name)
      }
    }
    let damage = try String.fetchAll(database, sql: "PRAGMA integrity_check")
    if damage != ["ok"] { mistakes += damage.map { "The file is damaged: \($0)" } }
  }

  private mutating func readOrders(_ database: Database) throws {
    let rows = try GRDB.Row.fetchAll(
      database,
      sql: """
        SELECT id, state, failure, problems,
          (SELECT value FROM step WHERE orderID = id AND key = 'validate')
        FROM orders ORDER BY number
        """
    )
    for row in rows {
      let (id, state): (String, String) = (row[0], row[1])
      let failure = try (row[2] as String?).map { try OrderFailure(json: $0) }
      let total = try (row[4] as String?).map { try Money(json: $0) }
      orders.append(
        Row(
          id: id,
          state: state,
          cause: failure?.kind.rawValue,
          total: total?.minorUnits
        )
      )
      if let failure, failure.reason.isEmpty || failure.tree.isEmpty {
        mistakes.append("Order \(id) is \(state), and has no cause.")
      }
      if state == "stuck" {
        let problems: String = row[3] ?? ""
        mistakes.append("Order \(id) is stuck, and needs a person: \(problems)")
      }
    }
  }

  /// A query for what breaks a rule, and how to say it.
  private struct Rule: Sendable {
    let sql: String
    let mistake: @Sendable (String) -> String
  }

  private static let rules = [
    Rule(sql: "SELECT sku FROM item WHERE stock < 0") { "The stock of “\($0)” is negative." },
    Rule(
      sql: """
        SELECT sku FROM item WHERE stock + (
          SELECT coalesce(sum(quantity), 0) FROM reservation WHERE reservation.sku = item.sku
        ) != delivered
        """
    ) { "The stock of “\($0)” and its reservations don't add up to what was delivered." },
    Rule(
      sql: """
        SELECT DISTINCT id FROM orders JOIN reservation ON orderID = id
        WHERE state IN ('failed', 'cancelled')
        """
    ) { "Order \($0) has come to nothing, and items are set aside for it." },
    Rule(
      sql: """
        SELECT DISTINCT id FROM orders JOIN orderLine AS line ON line.orderID = id
        LEFT JOIN reservation AS part ON part.orderID = id AND part.sku = line.sku
        WHERE state = 'confirmed' AND part.quantity IS NOT line.quantity
        """
    ) { "Order \($0) is confirmed, and not all of its items are set aside." },
    Rule(
      sql: """
        SELECT id FROM orders LEFT JOIN parcel ON orderID = id
        WHERE state = 'confirmed' AND parcel.number IS NULL
        """
    ) { "Order \($0) is confirmed, and not shipped." },
    Rule(
      sql: """
        SELECT id FROM orders JOIN parcel ON orderID = id
        WHERE state IN ('failed', 'cancelled') AND parcel.number IS NOT NULL
        """
    ) { "Order \($0) has come to nothing, and is shipped." },
  ]
}
