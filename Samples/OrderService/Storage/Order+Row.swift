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
    try rows(clauses, arguments, in: database).map { row in
      try Order.read(OrderID(rawValue: row[0])) { try Order(row, in: database) }
    }
  }

  /// Reads the orders that can be read, with what is wrong with the others.
  ///
  /// - Parameters: Those of ``fetch(_:_:in:)``.
  /// - Throws: `DatabaseError`.
  static func fetchReadable(
    _ clauses: String,
    _ arguments: StatementArguments,
    in database: Database
  ) throws -> OrderReading {
    var reading = OrderReading()
    for row in try rows(clauses, arguments, in: database) {
      try reading.read(OrderID(rawValue: row[0])) { try Order(row, in: database) }
    }
    return reading
  }

  private static func rows(
    _ clauses: String,
    _ arguments: StatementArguments,
    in database: Database
  ) throws -> [Row] {
    let orders = try database.cachedStatement(
      sql: """
        SELECT id, requestKey, customer, cardToken, acceptedAt, state, failure, problems, cancelReason
        FROM orders WHERE \(clauses)
        """
    )
    return try Row.fetchAll(orders, arguments: arguments)
  }

  private init(_ row: Row, in database: Database) throws {
    let lines = try database.cachedStatement(
      sql: "SELECT sku, quantity FROM orderLine WHERE orderID = ? ORDER BY position"
    )
    let steps = try database.cachedStatement(
      sql: "SELECT key, state FROM step WHERE orderID = ? ORDER BY number"
    )
    let id: String = row[0]
    self.init(
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
        guard let known = StepRecord.State(rawValue: state) else { throw Unknown(name: state) }
        return StepRecord(key: row[0], state: known)
      },
      cancelReason: row[8]
    )
    try checkSteps()
  }
}

extension Order.State {
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
    default: throw Order.Unknown(name: name)
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
