import EarthquakeKit
import Foundation
import GRDB
import Testing

@Suite struct `A database that fails` {
  private struct Interruption: Error, Equatable {}

  private func error(opening path: String) throws -> EarthquakeDatabaseError {
    let error = #expect(throws: EarthquakeDatabaseError.self) {
      try EarthquakeDatabase(path: path)
    }
    return try #require(error)
  }

  /// The same feed as TinyFeed, but of later: all events updated, one of them new.
  private func laterFeed() throws -> Feed {
    var feed = try Feed.parse(TinyFeed.data)
    feed.metadata.generated += 60
    for index in feed.earthquakes.indices { feed.earthquakes[index].updated += 60 }
    feed.earthquakes.append(
      Earthquake(id: "new", time: feed.metadata.generated, updated: feed.metadata.generated)
    )
    return feed
  }

  @Test(arguments: [0, 1, 5, 9])
  func `is as it was when storing is interrupted`(event: Int) throws {
    let database = try EarthquakeDatabase.inMemory()
    let feed = try Feed.parse(TinyFeed.data)
    try database.store(feed)
    let before = try database.earthquakes()
    #expect(throws: Interruption()) {
      try database.store(try laterFeed()) { if $0 == event { throw Interruption() } }
    }
    #expect(try database.earthquakes() == before)
    #expect(try database.lastGenerated(forFeed: feed.metadata.url) == feed.metadata.generated)
    #expect(try database.store(try laterFeed()) == StoreSummary(inserted: 1, updated: 8))
  }

  @Test func `is as it was when SQLite refuses an event in the middle`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("quakes.sqlite")
    let database = try EarthquakeDatabase(path: path)
    let feed = try Feed.parse(TinyFeed.data)
    try database.store(feed)
    let before = try database.earthquakes()
    try DatabaseQueue(path: path).write { other in
      try other.execute(
        sql: """
          CREATE TRIGGER refuse BEFORE INSERT ON earthquake WHEN NEW.id = 'g'
          BEGIN SELECT RAISE(ABORT, 'the disk is on fire'); END
          """
      )
    }
    #expect(throws: EarthquakeDatabaseError.failed(path: path, reason: "the disk is on fire")) {
      try database.store(try laterFeed())
    }
    #expect(try database.earthquakes() == before)
    #expect(try database.lastGenerated(forFeed: feed.metadata.url) == feed.metadata.generated)
  }

  @Test func `an error says that the path is empty`() throws {
    #expect(try error(opening: "") == .noPath)
  }

  @Test func `says that the folder does not exist`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("no/such/quakes.sqlite")
    let error = try error(opening: path)
    #expect(error == .noFolder(path: path))
    #expect(error.description.contains(folder.path("no/such")))
  }

  @Test func `says that the folder is a file`() throws {
    let folder = try TemporaryFolder()
    try Data("text".utf8).write(to: folder.url.appending(path: "file"))
    let path = folder.path("file/quakes.sqlite")
    #expect(try error(opening: path) == .noFolder(path: path))
  }

  @Test func `says that the file is a folder`() throws {
    let folder = try TemporaryFolder()
    let path = folder.url.path(percentEncoded: false)
    #expect(try error(opening: path) == .isFolder(path: path))
  }

  #if os(Linux)
  @Test func `says that the file cannot be created`() throws {
    // In this folder not even the superuser can create a file.
    let path = "/proc/quakes.sqlite"
    guard case .cannotOpen(path, _) = try error(opening: path) else {
      Issue.record("\(try error(opening: path))")
      return
    }
  }
  #endif

  @Test func `an error says that the file isn't a database, and the file stays as it is`() throws {
    let folder = try TemporaryFolder()
    let text = Data(String(repeating: "This is a letter. ", count: 100).utf8)
    let file = folder.url.appending(path: "letter.txt")
    try text.write(to: file)
    #expect(
      try error(opening: folder.path("letter.txt"))
        == .notADatabase(path: folder.path("letter.txt"))
    )
    #expect(try Data(contentsOf: file) == text)
  }

  @Test(arguments: [1, 2, 15, 511, 4_096])
  func `a file of another kind isn't a database, however short it is`(length: Int) throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(Data(repeating: 0x78, count: length), to: "note")
    #expect(try error(opening: path) == .notADatabase(path: path))
    #expect(throws: EarthquakeDatabaseError.notADatabase(path: path)) {
      try EarthquakeDatabase.existing(path: path)
    }
    #expect(try Data(contentsOf: URL(filePath: path)) == Data(repeating: 0x78, count: length))
  }

  @Test func `a pipe or a device isn't a database`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("pipe")
    try #require(mkfifo(path, 0o600) == 0)
    #expect(try error(opening: path) == .notAFile(path: path))
    #expect(try error(opening: "/dev/null") == .notAFile(path: "/dev/null"))
  }

  @Test func `says that links lead in a circle`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("link")
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
    let reason = String(cString: strerror(ELOOP))
    #expect(try error(opening: path) == .cannotOpen(path: path, reason: reason))
  }

  @Test func `says that the database is another program's, and leaves it alone`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("music.sqlite")
    try DatabaseQueue(path: path).write { try $0.execute(sql: "CREATE TABLE song (title)") }
    let before = try Data(contentsOf: folder.url.appending(path: "music.sqlite"))
    #expect(try error(opening: path) == .foreign(path: path))
    #expect(try Data(contentsOf: folder.url.appending(path: "music.sqlite")) == before)
  }

  @Test func `says that a newer version wrote it`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("quakes.sqlite")
    try EarthquakeDatabase(path: path).store(try Feed.parse(TinyFeed.data))
    try DatabaseQueue(path: path).write { database in
      try database.execute(sql: "INSERT INTO grdb_migrations VALUES ('99: from the future')")
    }
    #expect(try error(opening: path) == .newerVersion(path: path))
  }

  @Test(arguments: [
    EarthquakeDatabaseError.noPath, .noFolder(path: "/a/b"), .isFolder(path: "/a"),
    .notAFile(path: "/a"), .cannotOpen(path: "/a", reason: "out of luck"), .readOnly(path: "/a"),
    .notADatabase(path: "/a"), .foreign(path: "/a"), .newerVersion(path: "/a"),
    .busy(path: "/a"), .full(path: "/a"), .failed(path: "/a", reason: "out of luck"),
  ])
  func `is described in whole sentences`(error: EarthquakeDatabaseError) {
    #expect(error.description.hasPrefix("The "))
    #expect(error.description.hasSuffix("."))
    #expect(error == .noPath || error.description.contains("/a"))
    #expect(error.localizedDescription == error.description)
  }
}
