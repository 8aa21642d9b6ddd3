public import Foundation
import GRDB

/// The events of all feeds stored so far, in one SQLite file.
///
/// An event is known by its identities: storing it again changes nothing, unless its description is
/// newer than the stored one. A deleted event is neither counted nor listed. Every method runs in the calling thread until it is done, may be
/// called from any thread, and waits for its turn; other processes that use the same file are
/// waited for as well, up to five seconds.
///
/// ```swift
/// let database = try EarthquakeDatabase(path: "earthquakes.sqlite")
/// let summary = try database.store(try Feed.parse(data))
/// print(try database.report().text(width: 80, colour: false))
/// ```
public final class EarthquakeDatabase: Sendable {
  /// The file of the database, or `:memory:`.
  public let path: String

  let queue: DatabaseQueue

  init(path: String, queue: DatabaseQueue) {
    self.path = path
    self.queue = queue
  }

  /// The number of events in the database, without those that are deleted.
  ///
  /// - Returns: The number.
  /// - Throws: An ``EarthquakeDatabaseError`` if the file cannot be read.
  public func count() throws(EarthquakeDatabaseError) -> Int {
    try read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM reportedEarthquake") ?? 0 }
  }

  /// All events in the order in which they happened.
  ///
  /// - Returns: The events; those of the same millisecond in the order of their identities.
  /// - Throws: An ``EarthquakeDatabaseError`` if the file cannot be read.
  /// - Complexity: O(*n* log *n*) in the number of events.
  public func earthquakes() throws(EarthquakeDatabaseError) -> [Earthquake] {
    try read { try Self.earthquakes($0, "ORDER BY time, id") }
  }

  /// The newest writing of a feed that has been stored.
  ///
  /// - Parameter url: The address that the feed gives as its own, ``FeedMetadata/url``.
  /// - Returns: Its ``FeedMetadata/generated``, or `nil` if that feed was never stored.
  /// - Throws: An ``EarthquakeDatabaseError`` if the file cannot be read.
  public func lastGenerated(forFeed url: String) throws(EarthquakeDatabaseError) -> Date? {
    try read { database in
      try Int64.fetchOne(
        database,
        sql: "SELECT generated FROM feed WHERE url = ?",
        arguments: [url]
      )
      .map(Date.init(milliseconds:))
    }
  }

  /// Runs a query in one unchanging view of the database.
  func read<Result>(
    _ query: (Database) throws -> Result
  ) throws(EarthquakeDatabaseError) -> Result {
    do {
      return try queue.read(query)
    } catch {
      throw EarthquakeDatabaseError(error, path: path)
    }
  }

  static func earthquakes(
    _ database: Database,
    _ clauses: String
  ) throws -> [Earthquake] {
    let rows = try Row.fetchCursor(
      database,
      sql: """
        SELECT id, time, updated, magnitude, magnitudeType, place, type, longitude, latitude, depth,
          (SELECT group_concat(id) FROM otherIdentity WHERE earthquake = reportedEarthquake.id)
        FROM reportedEarthquake \(clauses)
        """
    )
    return try Array(rows.map(Earthquake.init(row:)))
  }
}

extension Earthquake {
  fileprivate init(row: Row) {
    let longitude: Double? = row[7]
    let latitude: Double? = row[8]
    var location: Location?
    if let longitude, let latitude {
      location = Location(longitude: longitude, latitude: latitude, depth: row[9])
    }
    self.init(
      id: row[0],
      otherIDs: (row[10] as String? ?? "").split(separator: ",").map(String.init),
      time: Date(milliseconds: row[1]),
      updated: Date(milliseconds: row[2]),
      magnitude: row[3],
      magnitudeType: row[4],
      place: row[5],
      type: row[6],
      location: location
    )
  }
}
