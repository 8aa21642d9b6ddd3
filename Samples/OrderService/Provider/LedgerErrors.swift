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

/// The file of a ledger can't be opened.
public struct LedgerNotOpened: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file.
  public var path: String
  /// What the system says.
  public var reason: String

  /// One sentence with both.
  public var description: String { "The ledger “\(path)” can't be opened: \(reason)." }
}

/// A file has lines that are none of a ledger.
public struct LedgerDamaged: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file.
  public var path: String
  /// The numbers of the lines, from 1.
  public var lines: [Int]

  /// One sentence with both, and what to do.
  public var description: String {
    let numbers = lines.prefix(5).map(String.init).joined(separator: ", ")
    let more = lines.count > 5 ? ", …" : ""
    let noun = lines.count == 1 ? "Line" : "Lines"
    return "\(noun) \(numbers)\(more) of “\(path)” can't be read as a charge: "
      + "mend the file, or use another one with --ledger."
  }
}

/// A line could not be written, and what it says has not happened.
public struct LedgerNotWritten: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file.
  public var path: String
  /// What the system says.
  public var reason: String

  /// One sentence with both.
  public var description: String { "The ledger “\(path)” can't be written: \(reason)." }
}
