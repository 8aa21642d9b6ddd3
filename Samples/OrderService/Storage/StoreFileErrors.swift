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

/// The file of a database was removed, or another one was put into its place, while it was used.
///
/// What would be written now is lost when the program ends.
public struct StoreFileRemoved: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file of the database.
  public var path: String

  /// Creates the error.
  public init(path: String) { self.path = path }

  /// What has happened, and what to do.
  public var description: String {
    "A file of the database “\(path)” was removed or replaced: put it back, or start again."
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
