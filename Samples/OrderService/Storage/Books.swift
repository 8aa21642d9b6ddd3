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
    /// What it costs; nil before it was validated.
    let total: Money?
  }

  private(set) var orders: [Row] = []
  private(set) var mistakes: [String] = []

  /// Reads the books.
  ///
  /// - Parameter query: Gives the rows of a query, whose columns are all text.
  /// - Throws: What the query throws.
  init(_ query: (String) throws -> [[String?]]) throws {
    try readOrders(query)
    for rule in Self.rules {
      mistakes += try query(rule.sql).map { rule.mistake(($0.first ?? nil) ?? "") }
    }
  }

  /// Notes what a check of the file has found.
  mutating func noteDamage(_ damage: [String]) {
    if damage != ["ok"] { mistakes += damage.map { "The file is damaged: \($0)" } }
  }

  private mutating func readOrders(_ query: (String) throws -> [[String?]]) throws {
    let rows = try query(
      """
      SELECT id, state, failure, problems,
        (SELECT value FROM step WHERE orderID = id AND key = 'validate')
      FROM orders ORDER BY number
      """
    )
    for row in rows {
      let (id, state) = (row[0] ?? "", row[1] ?? "")
      let failure = value(of: OrderFailure.self, row[2], "The cause of order \(id)")
      let total = value(of: Money.self, row[4], "The sum of order \(id)")
      orders.append(Row(id: id, state: state, cause: failure?.kind.rawValue, total: total))
      let isUnsaid = failure.map { $0.reason.isEmpty || $0.tree.isEmpty } ?? (row[2] == nil)
      if isUnsaid, !["open", "confirmed"].contains(state) {
        mistakes.append("Order \(id) is \(state), and has no cause.")
      }
      if state == "stuck" {
        mistakes.append("Order \(id) is stuck, and needs a person: \(row[3] ?? "")")
      }
    }
  }

  /// Reads a column; what can't be read is a mistake.
  private mutating func value<Value: Decodable>(
    of type: Value.Type,
    _ text: String?,
    _ name: String
  ) -> Value? {
    guard let text else { return nil }
    do {
      return try Value(json: text)
    } catch {
      mistakes.append("\(name) can't be read: “\(text.prefix(40))”.")
      return nil
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
    ) { "Order \($0) did not succeed, and items are set aside for it." },
    Rule(
      sql: """
        SELECT DISTINCT id FROM orders JOIN orderLine AS line ON line.orderID = id
        LEFT JOIN reservation AS part ON part.orderID = id AND part.sku = line.sku
        WHERE state = 'confirmed' AND part.quantity IS DISTINCT FROM line.quantity
        """
    ) { "Order \($0) is confirmed, and not all of its items are set aside." },
    Rule(
      sql: """
        SELECT id FROM orders LEFT JOIN parcel ON orderID = id
        WHERE state = 'confirmed' AND coalesce(parcel.number, '') = ''
        """
    ) { "Order \($0) is confirmed, and not shipped." },
    Rule(
      sql: """
        SELECT id FROM orders JOIN parcel ON orderID = id
        WHERE state IN ('failed', 'cancelled') AND parcel.number IS NOT NULL
        """
    ) { "Order \($0) did not succeed, and is shipped." },
    Rule(sql: "SELECT id FROM orders WHERE id NOT IN (SELECT orderID FROM orderLine)") {
      "Order \($0) is for nothing: it has no lines."
    },
    Rule(
      sql: """
        SELECT DISTINCT id FROM orders JOIN step ON step.orderID = id
        WHERE orders.state = 'confirmed' AND step.state != 'done'
        """
    ) { "Order \($0) is confirmed, and a step of it isn't done." },
    Rule(
      sql: "SELECT DISTINCT orderID FROM reservation WHERE orderID NOT IN (SELECT id FROM orders)"
    ) { "Items are set aside for order \($0), which doesn't exist." },
    Rule(sql: "SELECT DISTINCT sku FROM reservation WHERE sku NOT IN (SELECT sku FROM item)") {
      "“\($0)” is set aside, and the shop doesn't have it."
    },
  ]
}
