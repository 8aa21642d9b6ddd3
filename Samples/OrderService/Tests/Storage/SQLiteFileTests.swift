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
}
