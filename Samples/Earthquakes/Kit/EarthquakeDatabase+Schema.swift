import Foundation
import GRDB

extension EarthquakeDatabase {
  /// The mark of this program's files in SQLite's header, `QUAK` in ASCII.
  private static let applicationIdentifier: Int32 = 0x5155_414B

  static var configuration: Configuration {
    var configuration = Configuration()
    configuration.busyMode = .timeout(5)
    configuration.label = "Earthquakes"
    return configuration
  }

  /// Every change of the schema since the first; what was published once is never edited.
  private static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1: earthquakes and feeds") { database in
      // Times are milliseconds since 1970, as in the feeds; depths are kilometres.
      try database.execute(
        sql: """
          CREATE TABLE earthquake (
            id TEXT NOT NULL PRIMARY KEY,
            time INTEGER NOT NULL,
            updated INTEGER NOT NULL,
            magnitude REAL,
            magnitudeType TEXT,
            place TEXT,
            type TEXT,
            longitude REAL,
            latitude REAL,
            depth REAL,
            CHECK ((longitude IS NULL) = (latitude IS NULL))
          ) STRICT, WITHOUT ROWID;
          CREATE INDEX earthquakeByMagnitude ON earthquake (magnitude);
          CREATE TABLE feed (
            url TEXT NOT NULL PRIMARY KEY,
            title TEXT NOT NULL,
            generated INTEGER NOT NULL,
            count INTEGER NOT NULL
          ) STRICT, WITHOUT ROWID;
          PRAGMA application_id = \(applicationIdentifier);
          """
      )
    }
    return migrator
  }

  /// Opens a database, makes sure that it is one of ours, and brings its schema up to date.
  static func open(
    path: String,
    _ connect: () throws -> DatabaseQueue
  ) throws(EarthquakeDatabaseError) -> DatabaseQueue {
    do {
      let queue = try connect()
      try queue.read { database in
        let owner = try Int32.fetchOne(database, sql: "PRAGMA application_id")
        let tables = try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM sqlite_master") ?? 0
        guard owner == applicationIdentifier || tables == 0 else {
          throw EarthquakeDatabaseError.foreign(path: path)
        }
        guard try !migrator.hasBeenSuperseded(database) else {
          throw EarthquakeDatabaseError.newerVersion(path: path)
        }
      }
      try migrator.migrate(queue)
      return queue
    } catch {
      throw EarthquakeDatabaseError(error, path: path)
    }
  }
}
