/// Another program works on the orders of a database.
public struct StoreInUse: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file of the database.
  public var path: String

  /// Creates the error.
  public init(path: String) { self.path = path }

  /// One sentence with the file.
  public var description: String {
    "Another program works on the orders in “\(path)”: stop it, or use another file."
  }
}
