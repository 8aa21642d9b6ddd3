public import EarthquakeKit
import Foundation

/// Where a database is, or will be once something is stored.
///
/// Only storing creates the file: whatever fails before leaves nothing behind.
public struct DatabaseFile: Sendable, Hashable {
  /// The one absolute path of the file, so that two ways to write it are the same database.
  public let path: String

  /// Creates a place for a database; touches no file.
  ///
  /// - Parameter path: Absolute, or relative to the current folder of the process.
  public init(_ path: String) {
    let url = URL(filePath: path).standardizedFileURL.resolvingSymlinksInPath()
    self.path = path.isEmpty ? "" : url.path(percentEncoded: false)
  }

  /// Opens the database, and creates it if there is none.
  func open() throws(EarthquakeDatabaseError) -> EarthquakeDatabase {
    try EarthquakeDatabase(path: path)
  }

  /// Opens the database if there is one; creates nothing.
  ///
  /// - Returns: The database, or `nil` where nothing was ever stored.
  /// - Throws: An `EarthquakeDatabaseError` if what is there can't be used, or nothing can be there.
  public func openIfPresent() throws(EarthquakeDatabaseError) -> EarthquakeDatabase? {
    if let obstacle = EarthquakeDatabaseError.obstacle(toOpening: path) { throw obstacle }
    // An empty file is how an unused database begins; opening it would write into it.
    let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
    return (size ?? 0) > 0 ? try open() : nil
  }
}
