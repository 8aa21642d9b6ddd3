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
}
