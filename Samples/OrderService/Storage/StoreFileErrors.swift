/// The file of a database has several names, of which programs could use different ones.
///
/// SQLite finds the log of a file by its name: two programs that open the file under different names have
/// different logs, and lose what the other one has written.
public struct StoreHasOtherNames: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file of the database.
  public var path: String

  /// Creates the error.
  public init(path: String) { self.path = path }

  /// One sentence with the file.
  public var description: String {
    "“\(path)” has other names too (hard links): remove those, or use another file."
  }
}

/// What stands at the place of a database can't be opened as one.
public struct StoreNotOpened: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file of the database.
  public var path: String

  /// Why, as a part of a sentence.
  public var reason: String

  /// Creates the error.
  public init(path: String, reason: String) {
    self.path = path
    self.reason = reason
  }

  /// One sentence with the file.
  public var description: String { "The database “\(path)” can't be used: \(reason)." }
}
