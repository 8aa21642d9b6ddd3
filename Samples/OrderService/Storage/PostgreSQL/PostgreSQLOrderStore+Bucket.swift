#if PostgreSQL
public import OrderWorkflow

extension PostgreSQLOrderStore: RequestBucket {
  /// Takes tokens from a row that all instances share, by the clock of the server.
  public func takeTokens(
    _ wanted: Int,
    capacity: Int,
    period: Duration
  ) async throws -> Int {
    let rate = Double(capacity) / (period / .seconds(1))
    return try await pool.write { connection in
      // Tokens that are lost in a crash of the server are no harm.
      try connection.execute("SET LOCAL synchronous_commit = off")
      try connection.execute(
        """
        INSERT INTO bucket (name, tokens, filledAt) VALUES ('provider', $1, clock_timestamp())
        ON CONFLICT (name) DO NOTHING
        """,
        ["\(capacity)"]
      )
      // The row is locked first: the time of one that waited for it would be in the past.
      try connection.execute("SELECT FROM bucket WHERE name = 'provider' FOR UPDATE")
      let tokens = try connection.execute(
        """
        UPDATE bucket SET filledAt = clock_timestamp(), tokens = least(
          $1::double precision,
          tokens + $2::double precision
            * greatest(0, extract(epoch FROM clock_timestamp() - filledAt))
        ) WHERE name = 'provider' RETURNING floor(tokens)::bigint
        """,
        ["\(capacity)", "\(rate)"]
      )
      let count = min(wanted, tokens.value.flatMap { Int($0) } ?? 0)
      try connection.execute(
        "UPDATE bucket SET tokens = tokens - $1::bigint WHERE name = 'provider'",
        ["\(count)"]
      )
      return count
    }
  }
}
#endif
