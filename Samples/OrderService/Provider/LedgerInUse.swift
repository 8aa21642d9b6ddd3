/// Another program writes the file of a ledger.
public struct LedgerInUse: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file.
  public var path: String

  /// Creates the error.
  public init(path: String) { self.path = path }

  /// One sentence with the file.
  public var description: String {
    "Another program writes the ledger “\(path)”: stop it, or use another file."
  }
}
