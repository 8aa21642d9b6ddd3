#if PostgreSQL
extension OrderAudit {
  /// Looks at a database that several instances share, and at a ledger.
  ///
  /// - Parameters:
  ///   - url: Where the database is, as for ``PostgreSQLOrderStore``; it is only read.
  ///   - charges: Gives the ledger of the provider, with all lines of each charge in their order.
  /// - Throws: ``PostgreSQLError``; what `charges` throws.
  public init(ofServer url: String, charges: () async throws -> [Charge]) async throws {
    let pool = PostgreSQLPool(url: url, connections: 1)
    let books = try await pool.write { connection in
      try connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
      return try Books { try connection.execute($0).rows }
    }
    try await self.init(books, charges: charges) {
      try await pool.read { connection in
        Set(try connection.execute("SELECT id FROM orders").rows.compactMap { $0[0] })
      }
    }
  }
}
#endif
