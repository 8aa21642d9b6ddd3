import Foundation

/// How many files, connections among them, a program may have open.
enum OpenFiles {
  /// How many are kept for what isn't a client: the database, the provider, logs.
  private static let reserve = 64

  /// The fewest files with which the service starts.
  ///
  /// Foundation starts the provider as a child, in which it closes the files up to 255. The system
  /// refuses to close a number above the limit, and the child isn't started.
  static let fewest = 256

  /// The system lets the program open too few files.
  struct TooFew: Error, CustomStringConvertible {
    var limit: Int
    var description: String {
      "The system lets this program open \(limit) files, connections among them, and it needs at least "
        + "\(OpenFiles.fewest): raise the limit, for example with “ulimit -n 4096”."
    }
  }

  /// Raises the limit as far as the system lets it, and checks that it is enough.
  ///
  /// - Returns: The limit.
  /// - Throws: ``TooFew``.
  static func enough() throws -> Int {
    let limit = raiseLimit()
    if limit < fewest { throw TooFew(limit: limit) }
    return limit
  }

  /// Raises the limit of this program as far as the system lets it, and returns it.
  static func raiseLimit() -> Int {
    #if canImport(Glibc)
    let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    let kind = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    guard getrlimit(kind, &limit) == 0 else { return 256 }
    // What the system calls unlimited is no number to count with.
    let wanted = min(limit.rlim_max, 65_536)
    if limit.rlim_cur < wanted {
      var raised = limit
      raised.rlim_cur = wanted
      if setrlimit(kind, &raised) == 0 { limit = raised }
    }
    return Int(min(limit.rlim_cur, 65_536))
  }

  /// How many connections a service takes at once; others wait in the system's line.
  ///
  /// - Parameter limit: How many files may be open.
  /// - Returns: Most of them.
  static func connections(limit: Int) -> Int { max(limit - reserve, limit / 2) }
}
