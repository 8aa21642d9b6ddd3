#if PostgreSQL
extension OrderAudit {
  /// Looks at a database that several instances share, and at a ledger.
  ///
  /// - Parameters:
  ///   - url: Where the database is, as for ``PostgreSQLOrderStore``; it is only read.
  ///   - ledger: Gives the ledger of the provider.
  /// - Throws: ``PostgreSQLError``; what `ledger` throws.
  public init(ofServer url: String, ledger: () async throws -> Ledger) async throws {
    let pool = PostgreSQLPool(url: url, connections: 1)
    let books = try await pool.write { connection in
      try connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
      return try Books { try connection.execute($0).rows }
    }
    try await self.init(books, ledger: ledger) {
      try await pool.read { connection in
        Set(try connection.execute("SELECT id FROM orders").rows.compactMap { $0[0] })
      }
    }
  }
}
#endif
