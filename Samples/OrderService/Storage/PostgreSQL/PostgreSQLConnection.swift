#if PostgreSQL
import CPostgres

/// A connection to a server: it belongs to one thread, which waits in its calls.
///
/// Parameters are always bound, as text; no value becomes a part of a statement.
final class PostgreSQLConnection {
  private let url: String
  private var connection: OpaquePointer?
  /// The names under which the server has prepared statements.
  private var prepared: [String: String] = [:]

  /// Creates a connection that isn't open yet.
  init(url: String) { self.url = url }

  deinit { close() }

  /// Connects, unless that was done and the connection still seems to be there.
  ///
  /// - Throws: ``PostgreSQLError`` when there is no way to the server.
  func open() throws {
    if let connection, PQstatus(connection) == CONNECTION_OK { return }
    close()
    let settings = Self.settings(url: url)
    let (names, values) = (settings.map(\.0), settings.map(\.1))
    let new = withCStrings(names) { names in
      withCStrings(values) { values in PQconnectdbParams(names, values, 1) }
    }
    guard let new else { throw PostgreSQLError(lost: "there is no memory for a connection") }
    guard PQstatus(new) == CONNECTION_OK else {
      defer { PQfinish(new) }
      throw PostgreSQLError(lost: String(cString: PQerrorMessage(new)))
    }
    connection = new
    // A server that hangs must not keep its client for ever.
    try execute("SET statement_timeout = '15s'")
    try execute("SET lock_timeout = '10s'")
    // An instance that stands still in a transaction must not keep its rows from the others.
    try execute("SET idle_in_transaction_session_timeout = '4s'")
    try execute("SET client_min_messages = 'warning'")
  }

  /// What the connection is made with.
  ///
  /// The URL stands in place of the database's name, and at the end: what it says has the last word.
  static func settings(url: String) -> [(String, String)] {
    [
      ("connect_timeout", "3"), ("tcp_user_timeout", "5000"), ("keepalives_idle", "5"),
      ("keepalives_interval", "2"), ("keepalives_count", "3"), ("client_encoding", "UTF8"),
      ("application_name", "orders"), ("dbname", url),
    ]
  }

  func close() {
    if let connection { PQfinish(connection) }
    connection = nil
    prepared = [:]
  }

  /// The file descriptor of the connection; nil when it is closed.
  var socket: Int32? { connection.map { PQsocket($0) } }

  /// Whether the connection is gone.
  var isLost: Bool { connection.map { PQstatus($0) != CONNECTION_OK } ?? true }

  /// Executes one statement.
  ///
  /// - Parameters:
  ///   - sql: The statement, with `$1`, `$2`, … for its parameters.
  ///   - parameters: Their values as text; nil is NULL.
  /// - Returns: The rows, if the statement has any.
  /// - Throws: ``PostgreSQLError``.
  @discardableResult
  func execute(_ sql: String, _ parameters: [String?] = []) throws -> PostgreSQLRows {
    guard let connection else { throw PostgreSQLError(lost: "there is no connection") }
    let name = try prepare(sql, parameters.count, on: connection)
    let result = withCStrings(parameters) { values in
      PQexecPrepared(connection, name, Int32(parameters.count), values, nil, nil, 0)
    }
    return PostgreSQLRows(try check(result, on: connection))
  }

  /// Executes statements without parameters, such as those that make tables.
  func run(script: String) throws {
    guard let connection else { throw PostgreSQLError(lost: "there is no connection") }
    PQclear(try check(PQexec(connection, script), on: connection))
  }

  /// What others have sent with `NOTIFY` since the last call.
  ///
  /// - Throws: ``PostgreSQLError`` when the connection is gone.
  func notifications() throws -> [String] {
    guard let connection, PQconsumeInput(connection) == 1 else {
      throw PostgreSQLError(lost: "the connection ended")
    }
    var messages: [String] = []
    while let notification = PQnotifies(connection) {
      messages.append(String(cString: notification.pointee.extra))
      PQfreemem(notification)
    }
    return messages
  }

  private func prepare(_ sql: String, _ count: Int, on connection: OpaquePointer) throws -> String {
    if let name = prepared[sql] { return name }
    let name = "s\(prepared.count)"
    PQclear(try check(PQprepare(connection, name, sql, Int32(count), nil), on: connection))
    prepared[sql] = name
    return name
  }

  /// Throws the error of a result, and releases that; returns a result without one.
  private func check(
    _ result: OpaquePointer?,
    on connection: OpaquePointer
  ) throws -> OpaquePointer {
    let isLost = PQstatus(connection) != CONNECTION_OK
    guard let result else {
      throw PostgreSQLError(
        sqlState: nil,
        message: String(cString: PQerrorMessage(connection)),
        isConnectionLost: isLost
      )
    }
    let status = PQresultStatus(result)
    if status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK { return result }
    defer { PQclear(result) }
    // 'C' is PG_DIAG_SQLSTATE, and 'M' is PG_DIAG_MESSAGE_PRIMARY.
    let state = PQresultErrorField(result, 0x43).map { String(cString: $0) }
    let message = PQresultErrorField(result, 0x4D).map { String(cString: $0) }
    throw PostgreSQLError(
      sqlState: state,
      message: message ?? String(cString: PQerrorMessage(connection)),
      isConnectionLost: isLost
    )
  }
}

extension PostgreSQLError {
  fileprivate init(lost message: String) {
    self.init(sqlState: nil, message: message, isConnectionLost: true)
  }
}

/// Gives strings as C wants them, with a null pointer for nil and another one at the end.
private func withCStrings<Value>(
  _ strings: [String?],
  _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Value
) -> Value {
  var bytes: [CChar] = []
  var offsets: [Int?] = []
  for string in strings {
    offsets.append(string == nil ? nil : bytes.count)
    if let string { bytes += string.utf8CString }
  }
  return bytes.withUnsafeBufferPointer { buffer in
    var pointers = offsets.map { offset in offset.flatMap { buffer.baseAddress?.advanced(by: $0) } }
    pointers.append(nil)
    return pointers.withUnsafeBufferPointer { list in
      guard let base = list.baseAddress else { preconditionFailure("The list has its end.") }
      return body(base)
    }
  }
}
#endif
