import EarthquakeKit
import Foundation
import GRDB
import Testing

@Suite struct `The creation of a database` {
  private let folder: TemporaryFolder
  private let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("quakes.sqlite")
  }

  /// What the migrator of the first version committed before it made anything else.
  private static let records = "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)"

  private func bytes() throws -> Data { try Data(contentsOf: URL(filePath: path)) }

  @Test func `is made in one transaction`() throws {
    _ = try EarthquakeDatabase(path: path)
    // SQLite counts transactions that write at byte 24 of the file, as a big-endian number.
    #expect(try bytes()[24..<28].elementsEqual([0, 0, 0, 1]))
  }

  @Test func `is made of what a killed first version has left`() throws {
    try DatabaseQueue(path: path).write { try $0.execute(sql: Self.records) }
    let database = try EarthquakeDatabase(path: path)
    try database.store(try Feed.parse(TinyFeed.data))
    #expect(try EarthquakeDatabase(path: path).count() == 8)
  }

  @Test func `is recorded with each change of its schema`() throws {
    try EarthquakeDatabase(path: path).store(try Feed.parse(TinyFeed.data))
    let file = try DatabaseQueue(path: path)
    let mark = try file.read { try Int.fetchOne($0, sql: "PRAGMA application_id") }
    #expect(mark == 0x5155_414B)
    let records = try file.read {
      try String.fetchAll($0, sql: "SELECT identifier FROM grdb_migrations")
    }
    #expect(records == ["1: earthquakes and feeds", "2: other identities and deleted events"])
  }

  @Test func `is made of one of the first version, with the events that are in it`() throws {
    try DatabaseQueue(path: path).write { database in
      try database.execute(
        sql: """
          \(Self.records);
          INSERT INTO grdb_migrations VALUES ('1: earthquakes and feeds');
          PRAGMA application_id = \(0x5155_414B);
          CREATE TABLE earthquake (
            id TEXT NOT NULL PRIMARY KEY, time INTEGER NOT NULL, updated INTEGER NOT NULL, magnitude REAL,
            magnitudeType TEXT, place TEXT, type TEXT, longitude REAL, latitude REAL, depth REAL
          ) STRICT, WITHOUT ROWID;
          CREATE TABLE feed (
            url TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL, generated INTEGER NOT NULL,
            count INTEGER NOT NULL
          ) STRICT, WITHOUT ROWID;
          INSERT INTO earthquake (id, time, updated) VALUES ('us1', 1000, 2000), ('us2', 1000, 2000);
          """
      )
    }
    let database = try EarthquakeDatabase(path: path)
    #expect(try database.earthquakes().map(\.id) == ["us1", "us2"])
    let features = [FeedText.feature(id: "\"ci1\"", updated: "3000", ids: "\",ci1,us1,\"")]
    #expect(try database.store(try Feed.parse(FeedText.feed(features))) == StoreSummary(updated: 1))
    #expect(try database.earthquakes().map(\.id) == ["us2", "ci1"])
  }

  @Test(arguments: [
    [records, "INSERT INTO grdb_migrations VALUES ('1: songs')"],
    [records, "CREATE TABLE song (title)"], [records, "CREATE VIEW song AS SELECT 1"],
    [records, "PRAGMA user_version = 3"], [records, "PRAGMA application_id = 3"],
    ["CREATE TABLE grdb_migrations (identifier TEXT, more TEXT)"], ["PRAGMA user_version = 3"],
  ])
  func `is not made of anything that another program may miss`(statements: [String]) throws {
    try DatabaseQueue(path: path).write { database in
      for statement in statements { try database.execute(sql: statement) }
    }
    let before = try bytes()
    #expect(throws: EarthquakeDatabaseError.foreign(path: path)) {
      try EarthquakeDatabase(path: path)
    }
    #expect(throws: EarthquakeDatabaseError.foreign(path: path)) {
      try EarthquakeDatabase.existing(path: path)
    }
    #expect(try bytes() == before)
  }

  @Test func `is not made by a program that only looks`() throws {
    #expect(try EarthquakeDatabase.existing(path: path) == nil)
    #expect(!FileManager.default.fileExists(atPath: path))
    try Data().write(to: URL(filePath: path))
    #expect(try EarthquakeDatabase.existing(path: path) == nil)
    #expect(try bytes().isEmpty)
    try DatabaseQueue(path: path).write { try $0.execute(sql: Self.records) }
    let before = try bytes()
    #expect(try EarthquakeDatabase.existing(path: path) == nil)
    #expect(try bytes() == before)
    try EarthquakeDatabase(path: path).store(try Feed.parse(TinyFeed.data))
    #expect(try EarthquakeDatabase.existing(path: path)?.count() == 8)
  }

  @Test func `a database is found if another process created it in the meantime`() throws {
    let other = try DatabaseLock(.reserved, path)
    let pauses = Pauses()
    let patience = Patience { [path] pause in
      pauses.add(pause)
      // The other process ends its transaction, and is the first to begin the next one.
      try? other.release()
      _ = try? EarthquakeDatabase(path: path).store(try Feed.parse(TinyFeed.data))
    }
    #expect(try EarthquakeDatabase(path: path, patience: patience).count() == 8)
    #expect(pauses.count == 1)
  }
}
