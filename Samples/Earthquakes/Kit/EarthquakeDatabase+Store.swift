import Foundation
import GRDB

extension EarthquakeDatabase {
  /// Stores the events of a feed, all of them or none.
  ///
  /// A new event is inserted. A known one is replaced if the feed's description of it is newer
  /// than the stored one, and left alone otherwise, so that feeds may be stored in any order and
  /// any number of times. If a feed has an event twice, the newer description counts. An event whose
  /// identity has changed is still the same event if a newer description has the stored identity among
  /// ``Earthquake/otherIDs``. A deleted event is hidden, and older descriptions don't bring it back. The time
  /// when the feed was generated is remembered for its address, the newest one if there are more.
  ///
  /// - Parameters:
  ///   - feed: The feed.
  ///   - checkpoint: Called before each event and once more at the end, with the number of events
  ///     done so far. Throwing from it, for example because nobody wants the result any more,
  ///     leaves the database as it was. It must not use the database.
  /// - Returns: What was done to how many events.
  /// - Throws: What `checkpoint` throws, unchanged; otherwise an ``EarthquakeDatabaseError``. In
  ///   both cases the database is as it was before the call.
  /// - Complexity: O(*n* log *m*) for *n* events in the feed and *m* in the database.
  @discardableResult
  public func store(
    _ feed: Feed,
    checkpoint: (_ done: Int) throws -> Void = { _ in }
  ) throws -> StoreSummary {
    var interruption: (any Error)?
    do {
      return try queue.write { database in
        let summary = try Self.store(feed, in: database) { done in
          do {
            try checkpoint(done)
          } catch {
            interruption = error
            throw error
          }
        }
        try Self.remember(feed.metadata, in: database)
        return summary
      }
    } catch {
      throw interruption ?? EarthquakeDatabaseError(error, path: path)
    }
  }

  private static func store(
    _ feed: Feed,
    in database: Database,
    checkpoint: (Int) throws -> Void
  ) throws -> StoreSummary {
    let table = try EarthquakeTable(database)
    var summary = StoreSummary()
    for (done, earthquake) in feed.earthquakes.enumerated() {
      try checkpoint(done)
      switch try table.store(earthquake, isDeleted: false) {
      case .inserted: summary.inserted += 1
      case .replaced: summary.updated += 1
      case .unchanged: summary.unchanged += 1
      }
    }
    for (done, earthquake) in feed.deleted.enumerated() {
      try checkpoint(feed.earthquakes.count + done)
      switch try table.store(earthquake, isDeleted: true) {
      case .inserted, .replaced: summary.deleted += 1
      case .unchanged: summary.unchanged += 1
      }
    }
    try checkpoint(feed.earthquakes.count + feed.deleted.count)
    return summary
  }

  private static func remember(_ metadata: FeedMetadata, in database: Database) throws {
    try database.execute(
      sql: """
        INSERT INTO feed (url, title, generated, count) VALUES (?, ?, ?, ?)
        ON CONFLICT (url) DO UPDATE SET
          title = excluded.title, generated = excluded.generated, count = excluded.count
        WHERE excluded.generated > feed.generated
        """,
      arguments: [
        metadata.url, metadata.title, metadata.generated.milliseconds, metadata.count,
      ]
    )
  }
}
