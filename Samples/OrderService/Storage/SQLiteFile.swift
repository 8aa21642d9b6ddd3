import Foundation
import GRDB

/// What stands at the place of a database, before it is opened as one.
enum SQLiteFile {
  /// Refuses a place where there can be no database of orders; nothing is made or changed.
  ///
  /// - Parameters:
  ///   - path: The place, which may be a link.
  ///   - isNeeded: Whether it has to be there already.
  /// - Returns: The place without links.
  /// - Throws: ``StoreNotOpened``.
  static func checked(_ path: String, isNeeded: Bool = false) throws -> String {
    func refuse(_ reason: String) -> StoreNotOpened { StoreNotOpened(path: path, reason: reason) }
    let manager = FileManager.default
    if path.isEmpty { throw refuse("its name is empty") }
    let file = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
    var isFolder: ObjCBool = false
    if manager.fileExists(atPath: file, isDirectory: &isFolder) {
      if isFolder.boolValue { throw refuse("it is a folder; give a file in it") }
      let attributes = try manager.attributesOfItem(atPath: file)
      if let type = attributes[.type] as? FileAttributeType, type != .typeRegular {
        throw refuse("it is a device or a pipe, and not a file")
      }
      if attributes[.size] as? Int == 0 {
        if isNeeded { throw refuse("it is empty") }
      } else if let reason = reasonAgainst(file, isNeeded: isNeeded) {
        throw refuse(reason)
      }
      return file
    }
    if isNeeded { throw refuse("there is no such file") }
    let folder = URL(filePath: file).deletingLastPathComponent().path(percentEncoded: false)
    guard manager.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
      throw refuse("there is no folder “\(folder)”")
    }
    if !manager.isWritableFile(atPath: folder) { throw refuse("its folder can't be written") }
    return file
  }

  /// A configuration for a database that is only read.
  static var readOnly: Configuration {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(5)
    return configuration
  }

  /// Why a file that isn't empty is no database of orders; nil if it is one.
  private static func reasonAgainst(_ file: String, isNeeded: Bool) -> String? {
    let tables: [String]
    do {
      tables = try DatabaseQueue(path: file, configuration: readOnly).read { database in
        try String.fetchAll(database, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
      }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
      return "it isn't an SQLite database"
    } catch {
      // What can't be read now says why when it is opened.
      return nil
    }
    // Of a first start that was cut short there may be less.
    let others = tables.filter { !$0.hasPrefix("sqlite_") && $0 != "grdb_migrations" }
    if others.isEmpty, isNeeded {
      return "it has no orders; to a copy belongs the file beside it that ends in “-wal”"
    }
    return others.isEmpty || others.contains("orderLine")
      ? nil : "it is the database of another program"
  }
}
