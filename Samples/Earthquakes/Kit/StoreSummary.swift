/// What storing a feed did to the database.
public struct StoreSummary: Sendable, Hashable {
  /// How many events were new.
  public var inserted: Int

  /// How many events were known and have been replaced by a newer description.
  public var updated: Int

  /// How many events were known as well or better, and have been left as they were.
  public var unchanged: Int

  /// How many events are deleted, according to a description that was new.
  public var deleted: Int

  /// Creates a summary.
  ///
  /// - Parameters:
  ///   - inserted: How many events were new.
  ///   - updated: How many were replaced.
  ///   - unchanged: How many were left as they were.
  ///   - deleted: How many are deleted.
  public init(inserted: Int = 0, updated: Int = 0, unchanged: Int = 0, deleted: Int = 0) {
    self.inserted = inserted
    self.updated = updated
    self.unchanged = unchanged
    self.deleted = deleted
  }
}
