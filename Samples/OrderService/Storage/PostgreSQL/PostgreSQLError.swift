#if PostgreSQL
/// What a PostgreSQL server, or the way to it, has against a statement.
public struct PostgreSQLError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The code of the error (SQLSTATE), of five characters; nil when the server didn't answer.
  public var sqlState: String?

  /// What is wrong.
  public var message: String

  /// Whether the connection is gone: what was sent last may have been done.
  public var isConnectionLost: Bool

  /// Creates an error.
  public init(sqlState: String?, message: String, isConnectionLost: Bool) {
    self.sqlState = sqlState
    self.message = message
    self.isConnectionLost = isConnectionLost
  }

  /// The message in one line, with the code.
  public var description: String {
    let lines = message.split(whereSeparator: \.isNewline).joined(separator: " ")
    return "PostgreSQL: \(lines)" + (sqlState.map { " (SQLSTATE \($0))" } ?? "")
  }

  /// A second row with a key that must be unique.
  static let uniqueViolation = "23505"

  /// Whether a constraint of a table forbids the change: class 23 of the states.
  var isContradiction: Bool { sqlState?.hasPrefix("23") == true }
}
#endif
