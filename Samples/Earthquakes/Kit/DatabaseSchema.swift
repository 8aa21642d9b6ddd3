import GRDB

/// The tables of the database, and how far a file has come with them.
///
/// Every change of the schema is made in the same transaction that records it, and the first one
/// also in the same as the table of records and the mark of the program. A file has all of it or
/// nothing, whenever the process that makes it is killed; of two processes that make the same file
/// the second one waits, looks again and finds it made. GRDB's `DatabaseMigrator` commits its table
/// of records before the first change, so it is not used; the table is like its, as it has made the
/// files of the first version.
struct DatabaseSchema {
  /// One step from a schema to the next.
  struct Change {
    var name: String
    var sql: String
  }

  /// What a file is to this program.
  enum Standing: Equatable {
    /// Nothing is in it, or no more than a first version that was killed has left.
    case unmade
    /// It belongs to this program, which has yet to make so many changes.
    case ours(missing: Int)
    /// It was written by a version that knows more changes.
    case newer
    /// It belongs to another program.
    case foreign
  }

  /// The mark of this program's files in SQLite's header, `QUAK` in ASCII.
  private static let mark: Int32 = 0x5155_414B

  private static let records = "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)"

  /// Every change since the first; what was published once is never edited.
  private static let changes = [
    // Times are milliseconds since 1970, as in the feeds; depths are kilometres.
    Change(
      name: "1: earthquakes and feeds",
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
        """
    ),
    // A deleted event is kept, so that an older description of it doesn't bring it back.
    Change(
      name: "2: other identities and deleted events",
      sql: """
        CREATE TABLE otherIdentity (
          id TEXT NOT NULL PRIMARY KEY,
          earthquake TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX otherIdentityByEarthquake ON otherIdentity (earthquake);
        ALTER TABLE earthquake ADD COLUMN isDeleted INTEGER NOT NULL DEFAULT 0;
        CREATE VIEW reportedEarthquake AS SELECT * FROM earthquake WHERE NOT isDeleted;
        """
    ),
  ]

  private let database: Database

  init(_ database: Database) {
    self.database = database
  }

  /// What the file is to this program at the moment of the transaction.
  func standing() throws -> Standing {
    let objects = try Row.fetchAll(
      database,
      sql: "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_autoindex_%'"
    )
    if try number("application_id") == Self.mark {
      let recorded = objects.contains { $0["name"] == "grdb_migrations" } ? try recorded() : []
      let known = Self.changes.map(\.name)
      return recorded.isSubset(of: known)
        ? .ours(missing: known.count - recorded.count) : .newer
    }
    // The first version made the records first and its mark later. A table that looks like that and
    // has nothing in it is nothing to lose, whoever made it.
    let isUnmade = try objects.isEmpty || objects.count == 1 && hasOnlyRecords(objects[0])
    let isUnmarked = try number("application_id") == 0 && number("user_version") == 0
    return isUnmade && isUnmarked ? .unmade : .foreign
  }

  /// Makes what is missing, in a transaction that the caller has begun and that may write.
  func complete() throws {
    let recorded: Set<String>
    switch try standing() {
    case .foreign, .newer, .ours(missing: 0): return
    case .unmade:
      try database.execute(
        sql: """
          \(Self.records.replacing("TABLE", with: "TABLE IF NOT EXISTS"));
          PRAGMA application_id = \(Self.mark);
          """
      )
      recorded = []
    case .ours: recorded = try self.recorded()
    }
    for change in Self.changes where !recorded.contains(change.name) {
      try database.execute(sql: change.sql)
      try database.execute(
        sql: "INSERT INTO grdb_migrations (identifier) VALUES (?)",
        arguments: [change.name]
      )
    }
  }

  private func hasOnlyRecords(_ object: Row) throws -> Bool {
    try object["sql"] == Self.records && recorded().isEmpty
  }

  private func recorded() throws -> Set<String> {
    try String.fetchSet(database, sql: "SELECT identifier FROM grdb_migrations")
  }

  private func number(_ pragma: String) throws -> Int32? {
    try Int32.fetchOne(database, sql: "PRAGMA \(pragma)")
  }
}
