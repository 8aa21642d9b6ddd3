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
