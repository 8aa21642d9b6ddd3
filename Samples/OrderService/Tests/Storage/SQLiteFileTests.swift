import Foundation
import GRDB
import OrderWorkflow
import Testing

@testable import OrderStorage

@Suite("The file of a database")
struct SQLiteFileTests {
  let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  @Test func `waits for the disk with each commit`() throws {
    let store = try database.open()
    let level = try store.pool.writeWithoutTransaction { database in
      try Int.fetchOne(database, sql: "PRAGMA synchronous")
    }
    // 2 is FULL: the log is written through before a commit counts.
    #expect(level == 2)
  }

  @Test func `has a log that is cut again after a large transaction`() throws {
    let store = try database.open()
    func logSize() throws -> Int {
      let attributes = try FileManager.default.attributesOfItem(atPath: database.path + "-wal")
      return try #require(attributes[.size] as? Int)
    }
    try store.pool.write { database in
      try database.execute(sql: "CREATE TABLE large (content BLOB)")
      for _ in 0..<24 { try database.execute(sql: "INSERT INTO large VALUES (zeroblob(1 << 20))") }
    }
    #expect(try logSize() > SQLiteOrderStore.logLimit)
    // All of it is in the file by now, and the next transaction begins the log anew.
    try store.pool.write { try $0.execute(sql: "CREATE TABLE small (content TEXT)") }
    #expect(try logSize() <= SQLiteOrderStore.logLimit)
  }

  @Test func `belongs to one program at a time`() async throws {
    do {
      let store = try database.open()
      #expect(throws: StoreInUse(path: database.path)) { try database.open() }
      #expect(try await store.items().isEmpty)
    }
    _ = try database.open()
  }

  @Test func `belongs to that program under each name that leads to it`() throws {
    let alias = database.folder.appending(path: "alias.sqlite").path
    try FileManager.default.createSymbolicLink(atPath: alias, withDestinationPath: database.path)
    let store = try database.open()
    #expect(throws: StoreInUse(path: alias)) { try SQLiteOrderStore(path: alias) }
    withExtendedLifetime(store) {}
  }

  @Test func `isn't opened under a second name of its own, which has another log`() async throws {
    let other = database.folder.appending(path: "other.sqlite").path
    do {
      let store = try database.open()
      try FileManager.default.linkItem(atPath: database.path, toPath: other)
      #expect(throws: StoreHasOtherNames(path: other)) { try SQLiteOrderStore(path: other) }
      withExtendedLifetime(store) {}
    }
    try FileManager.default.removeItem(atPath: other)
    _ = try await database.reopen()
  }

  @Test(arguments: ["", "-wal", "-program"])
  func `takes nothing while one of its files is gone`(_ suffix: String) async throws {
    let store = try await database.shop()
    let (file, aside) = (database.path + suffix, database.path + ".aside")
    try FileManager.default.moveItem(atPath: file, toPath: aside)
    let removed = StoreFileRemoved(path: database.path)
    await #expect(throws: removed) { try await store.order(1) }
    await #expect(throws: removed) { try await store.items() }
    // Another file in its place isn't it.
    try Data().write(to: URL(filePath: file))
    await #expect(throws: removed) { try await store.order(1) }
    try FileManager.default.removeItem(atPath: file)
    try FileManager.default.moveItem(atPath: aside, toPath: file)
    let id = try await store.order(1)
    #expect(try await store.order(id)?.draft == .tea())
  }

  @Test func `has all that was written when it is closed, and no log beside it`() async throws {
    let store = try await database.shop()
    let id = try await store.order(1)
    #expect(try await store.order(id) != nil)
    try store.close()
    #expect(!FileManager.default.fileExists(atPath: database.path + "-wal"))
    let copy = database.folder.appending(path: "copy.sqlite").path
    try FileManager.default.copyItem(atPath: database.path, toPath: copy)
    #expect(try await SQLiteOrderStore(path: copy).order(id)?.draft == .tea())
    _ = try database.open()
  }

  @Test func `isn't audited as a copy without its log, which has no orders`() async throws {
    let store = try await database.shop()
    let copy = database.folder.appending(path: "copy.sqlite").path
    try FileManager.default.copyItem(atPath: database.path, toPath: copy)
    let error = await #expect(throws: StoreNotOpened.self) {
      try await OrderAudit(of: copy) { OrderAudit.Ledger([]) }
    }
    #expect(error?.reason.contains("“-wal”") == true)
    withExtendedLifetime(store) {}
  }

  @Test func `is refused where there can be none, and nothing is left there`() throws {
    func reason(_ path: String) -> String? {
      do {
        _ = try SQLiteOrderStore(path: path)
        return nil
      } catch { return (error as? StoreNotOpened)?.reason ?? "\(error)" }
    }
    let folder = database.folder.path
    let before = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(reason("") == "its name is empty")
    #expect(reason(folder) == "it is a folder; give a file in it")
    #expect(reason("\(folder)/no/x.sqlite") == "there is no folder “\(folder)/no/”")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == before)
    #expect(reason("/dev/null") == "it is a device or a pipe, and not a file")
    #expect(!FileManager.default.fileExists(atPath: "/dev/null-program"))
    let text = database.folder.appending(path: "text.sqlite")
    try Data("no database, and long enough".utf8).write(to: text)
    #expect(reason(text.path) == "it isn't an SQLite database")
    let other = database.folder.appending(path: "other.sqlite").path
    try DatabaseQueue(path: other).write { try $0.execute(sql: "CREATE TABLE mine (x)") }
    #expect(reason(other) == "it is the database of another program")
    let tables = try DatabaseQueue(path: other).read { database in
      try String.fetchAll(database, sql: "SELECT name FROM sqlite_master")
    }
    #expect(tables == ["mine"])
  }
}
