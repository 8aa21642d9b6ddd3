import Foundation
import GRDB

/// What stands at the place of a database, before it is opened as one.
enum SQLiteFile {
  /// Refuses a place where there can be no database of orders; nothing is made or changed.
  ///
  /// - Parameters:
  ///   - file: The place.
  ///   - path: What to call it.
  ///   - isNeeded: Whether it has to be there already.
  /// - Throws: ``StoreNotOpened``.
  static func check(_ file: String, as path: String, isNeeded: Bool = false) throws {
    func refuse(_ reason: String) -> StoreNotOpened { StoreNotOpened(path: path, reason: reason) }
    let manager = FileManager.default
    if path.isEmpty { throw refuse("its name is empty") }
    var isFolder: ObjCBool = false
    if manager.fileExists(atPath: file, isDirectory: &isFolder) {
      if isFolder.boolValue { throw refuse("it is a folder; give a file in it") }
      if let reason = try reasonAgainst(file) { throw refuse(reason) }
      if isNeeded, try size(of: file) == 0 { throw refuse("it is empty") }
      return
    }
    if isNeeded { throw refuse("there is no such file") }
    let folder = URL(filePath: file).deletingLastPathComponent().path(percentEncoded: false)
    guard manager.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
      throw refuse("there is no folder “\(folder)”")
    }
    if !manager.isWritableFile(atPath: folder) { throw refuse("its folder can't be written") }
  }

  private static func size(of file: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
  }

  /// Why a file is no database of orders; nil if it is one, or is empty.
  private static func reasonAgainst(_ file: String) throws -> String? {
    let type = try FileManager.default.attributesOfItem(atPath: file)[.type] as? FileAttributeType
    if let type, type != .typeRegular { return "it is a device or a pipe, and no file" }
    if try size(of: file) == 0 { return nil }
    guard let handle = FileHandle(forReadingAtPath: file) else { return "it can't be read" }
    defer { try? handle.close() }
    let head = try handle.read(upToCount: 16) ?? Data()
    if head != Data("SQLite format 3\0".utf8) { return "it is no SQLite database" }
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(5)
    // One that can't be read now says why when it is opened.
    let tables = try? DatabaseQueue(path: file, configuration: configuration).read { database in
      try String.fetchAll(database, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    guard let tables else { return nil }
    // Of a first start that was cut short there may be less.
    let others = tables.filter { !$0.hasPrefix("sqlite_") && $0 != "grdb_migrations" }
    return others.isEmpty || others.contains("orderLine")
      ? nil : "it is the database of another program"
  }
}
