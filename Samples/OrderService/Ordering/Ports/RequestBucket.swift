/// A bucket of tokens that all instances share: each request to the provider takes one.
public protocol RequestBucket: Sendable {
  /// Takes tokens.
  ///
  /// The bucket holds as many as may be taken within a period, and fills evenly.
  ///
  /// - Parameters:
  ///   - wanted: How many, at most.
  ///   - capacity: How many the bucket holds.
  ///   - period: How long it takes until an empty bucket is full again.
  /// - Returns: How many there were, which may be none.
  /// - Throws: An error of the store.
  func takeTokens(_ wanted: Int, capacity: Int, period: Duration) async throws -> Int
}
