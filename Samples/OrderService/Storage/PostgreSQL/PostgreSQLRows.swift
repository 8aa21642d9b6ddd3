#if PostgreSQL
import CPostgres

/// The rows that a statement has returned, as text.
struct PostgreSQLRows: Sendable {
  /// The values of each row; nil is NULL.
  let rows: [[String?]]
  /// How many rows the statement has changed or returned.
  let count: Int

  /// Copies a result of libpq, and releases that.
  init(_ result: OpaquePointer) {
    defer { PQclear(result) }
    let columns = PQnfields(result)
    rows = (0..<PQntuples(result)).map { row in
      (0..<columns).map { column in
        if PQgetisnull(result, row, column) == 1 { return nil }
        return String(cString: PQgetvalue(result, row, column))
      }
    }
    count = Int(String(cString: PQcmdTuples(result))) ?? 0
  }

  /// The first value of the first row; nil when it is NULL, or there is no row.
  var value: String? { rows.first?.first ?? nil }
}
#endif
