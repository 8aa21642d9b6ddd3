import Foundation
import GRDB

extension EarthquakeDatabase {
  /// A report of everything that the database holds at one moment.
  ///
  /// - Returns: The report.
  /// - Throws: An ``EarthquakeDatabaseError`` if the file cannot be read.
  /// - Complexity: O(*n*) in the number of events.
  public func report() throws(EarthquakeDatabaseError) -> Report {
    try read { database in
      let span = try Row.fetchOne(
        database,
        sql: "SELECT COUNT(*), MIN(time), MAX(time) FROM reportedEarthquake"
      )
      let first: Int64? = span?[1]
      let last: Int64? = span?[2]
      let bins = try Self.magnitudeBins(database)
      return Report(
        count: span?[0] ?? 0,
        deletedCount: try Int.fetchOne(database, sql: "SELECT SUM(isDeleted) FROM earthquake") ?? 0,
        firstTime: first.map(Date.init(milliseconds:)),
        lastTime: last.map(Date.init(milliseconds:)),
        countsByType: try Self.countsByType(database),
        strongest: try Self.earthquakes(
          database,
          "WHERE magnitude IS NOT NULL ORDER BY magnitude DESC, time DESC, id LIMIT 10"
        ),
        magnitudeBins: bins.known,
        unknownMagnitudes: bins.unknown,
        depths: try Self.depths(database),
        feeds: try Self.feeds(database)
      )
    }
  }

  private static func countsByType(_ database: Database) throws -> [String: Int] {
    let rows = try Row.fetchAll(
      database,
      sql:
        "SELECT COALESCE(type, 'unknown') AS kind, COUNT(*) FROM reportedEarthquake GROUP BY kind"
    )
    return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
  }

  private static func magnitudeBins(
    _ database: Database
  ) throws -> (known: [MagnitudeBin], unknown: Int) {
    // A cast cuts towards zero, so what lies below its cast is negative and belongs one bin lower.
    let rows = try Row.fetchAll(
      database,
      sql: """
        SELECT CAST(magnitude AS INTEGER) - (magnitude < CAST(magnitude AS INTEGER)) AS bin,
          COUNT(*)
        FROM reportedEarthquake GROUP BY bin
        """
    )
    var counts: [Int: Int] = [:]
    var unknown = 0
    for row in rows {
      if let bin: Int = row[0] {
        counts[bin] = row[1]
      } else {
        unknown = row[1]
      }
    }
    return (MagnitudeBin.row(of: counts), unknown)
  }

  private static func depths(_ database: Database) throws -> DepthCounts {
    let row = try Row.fetchOne(
      database,
      sql: """
        SELECT
          COUNT(*) FILTER (WHERE depth < 70),
          COUNT(*) FILTER (WHERE depth BETWEEN 70 AND 300),
          COUNT(*) FILTER (WHERE depth > 300),
          COUNT(*) FILTER (WHERE depth IS NULL)
        FROM reportedEarthquake
        """
    )
    guard let row else { return DepthCounts() }
    return DepthCounts(shallow: row[0], intermediate: row[1], deep: row[2], unknown: row[3])
  }

  private static func feeds(_ database: Database) throws -> [FeedMetadata] {
    let rows = try Row.fetchAll(
      database,
      sql: "SELECT generated, url, title, count FROM feed ORDER BY url"
    )
    return rows.map {
      FeedMetadata(generated: Date(milliseconds: $0[0]), url: $0[1], title: $0[2], count: $0[3])
    }
  }
}
