#if PostgreSQL
import Foundation
import OrderWorkflow

extension Order {
  /// Reads orders, with their lines and steps.
  ///
  /// - Parameters:
  ///   - clauses: What follows `WHERE`.
  ///   - parameters: Those of the clauses.
  ///   - connection: Where to read.
  /// - Returns: The orders, as the clauses order them.
  /// - Throws: ``PostgreSQLError``; an error of decoding.
  static func fetch(
    _ clauses: String,
    _ parameters: [String?],
    on connection: PostgreSQLConnection
  ) throws -> [Order] {
    try rows(clauses, parameters, on: connection).map { row in
      try Order.read(OrderID(rawValue: row[0] ?? "")) { try Order(row: row) }
    }
  }

  /// Reads the orders that can be read, with what is wrong with the others.
  ///
  /// - Parameters: Those of ``fetch(_:_:on:)``.
  /// - Throws: ``PostgreSQLError``.
  static func fetchReadable(
    _ clauses: String,
    _ parameters: [String?],
    on connection: PostgreSQLConnection
  ) throws -> OrderReading {
    var reading = OrderReading()
    for row in try rows(clauses, parameters, on: connection) {
      try reading.read(OrderID(rawValue: row[0] ?? "")) { try Order(row: row) }
    }
    return reading
  }

  private static func rows(
    _ clauses: String,
    _ parameters: [String?],
    on connection: PostgreSQLConnection
  ) throws -> [[String?]] {
    try connection.execute(
      """
      SELECT id, requestKey, customer, cardToken, acceptedAt, state, failure, problems, holder, (
        SELECT coalesce(
          json_agg(json_build_object('sku', sku, 'quantity', quantity) ORDER BY position), '[]'
        ) FROM orderLine WHERE orderID = orders.id
      ), (
        SELECT coalesce(
          json_agg(json_build_object('key', key, 'state', step.state) ORDER BY step.number), '[]'
        ) FROM step WHERE orderID = orders.id
      ), cancelReason FROM orders WHERE \(clauses)
      """,
      parameters
    )
    .rows
  }

  private init(row: [String?]) throws {
    self.init(
      id: OrderID(rawValue: row[0] ?? ""),
      key: row[1] ?? "",
      draft: OrderDraft(
        customer: row[2] ?? "",
        cardToken: row[3] ?? "",
        lines: try [OrderLine](json: row[9] ?? "[]")
      ),
      acceptedAt: Date(
        timeIntervalSince1970: Double(row[4].flatMap { Int64($0) } ?? 0) / 1_000
      ),
      state: try State(name: row[5] ?? "", failure: row[6], problems: row[7]),
      steps: try [StepRecord](json: row[10] ?? "[]"),
      holder: row[8],
      cancelReason: row[11]
    )
    try checkSteps()
  }
}
#endif
