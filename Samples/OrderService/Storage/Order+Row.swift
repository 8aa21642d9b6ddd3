import GRDB
import OrderWorkflow

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Order {
  /// Reads orders, with their lines and steps.
  ///
  /// - Parameters:
  ///   - clauses: What follows `WHERE`.
  ///   - arguments: Those of the clauses.
  ///   - database: Where to read.
  /// - Returns: The orders, as the clauses order them.
  /// - Throws: `DatabaseError`; an error of decoding.
  static func fetch(
    _ clauses: String,
    _ arguments: StatementArguments,
    in database: Database
  ) throws -> [Order] {
    let orders = try database.cachedStatement(
      sql: """
        SELECT id, requestKey, customer, cardToken, acceptedAt, state, failure, problems
        FROM orders WHERE \(clauses)
        """
    )
    let lines = try database.cachedStatement(
      sql: "SELECT sku, quantity FROM orderLine WHERE orderID = ? ORDER BY position"
    )
    let steps = try database.cachedStatement(
      sql: "SELECT key, state FROM step WHERE orderID = ? ORDER BY number"
    )
    return try Row.fetchAll(orders, arguments: arguments).map { row in
      let id: String = row[0]
      return Order(
        id: OrderID(rawValue: id),
        key: row[1],
        draft: OrderDraft(
          customer: row[2],
          cardToken: row[3],
          lines: try Row.fetchAll(lines, arguments: [id]).map {
            OrderLine(sku: $0[0], quantity: $0[1])
          }
        ),
        acceptedAt: Date(timeIntervalSince1970: Double(row[4] as Int64) / 1_000),
        state: try State(name: row[5], failure: row[6], problems: row[7]),
        steps: try Row.fetchAll(steps, arguments: [id]).map { row in
          let state: String = row[1]
          return StepRecord(key: row[0], state: StepRecord.State(rawValue: state) ?? .begun)
        }
      )
    }
  }
}

extension Order.State {
  /// A row of the table says something that this version doesn't know.
  struct Unknown: Error {
    let name: String
  }

  init(name: String, failure: String?, problems: String?) throws {
    let failure = try failure.map { try OrderFailure(json: $0) }
    switch (name, failure) {
    case ("open", nil): self = .open
    case ("confirmed", nil): self = .confirmed
    case ("rolling back", let failure?): self = .rollingBack(failure)
    case ("failed", let failure?): self = .failed(failure)
    case ("cancelled", let failure?): self = .cancelled(failure)
    case ("stuck", let failure?):
      self = .stuck(failure, problems: try problems.map { try [String](json: $0) } ?? [])
    default: throw Unknown(name: name)
    }
  }
}

extension Decodable {
  /// Reads a value from a column.
  init(json: String) throws {
    self = try JSONDecoder().decode(Self.self, from: Data(json.utf8))
  }
}

extension Encodable {
  /// The value as a column has it.
  var json: String {
    get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
  }
}
