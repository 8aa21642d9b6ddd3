import AdvancedOperations
import EarthquakeKit

/// How the steps of one run get at their database.
///
/// They share their patience with other processes: where one step has waited in vain, the others
/// don't wait as well. A wait ends when the operation whose body or condition waits is cancelled.
struct DatabaseAccess: Sendable {
  let file: DatabaseFile
  let patience: Patience

  /// Uses the database, and creates it if there is none.
  ///
  /// - Throws: What `body` throws, or an `EarthquakeDatabaseError`; a `CancellationError` if
  ///   another process was waited for until the operation was cancelled.
  func use<Result>(_ body: (EarthquakeDatabase) throws -> Result) throws -> Result {
    do {
      return try body(EarthquakeDatabase(path: file.path, patience: patienceOfOperation))
    } catch EarthquakeDatabaseError.busy where AdvancedOperation.current?.isCancelled == true {
      throw CancellationError()
    }
  }

  /// Opens the database if there is one; creates nothing.
  ///
  /// - Returns: The database, or `nil` where nothing was ever stored.
  /// - Throws: An `EarthquakeDatabaseError` if what is there can't be used, or nothing can be
  ///   there.
  func openIfPresent() throws(EarthquakeDatabaseError) -> EarthquakeDatabase? {
    try EarthquakeDatabase.existing(path: file.path, patience: patienceOfOperation)
  }

  private var patienceOfOperation: Patience {
    guard let operation = AdvancedOperation.current else { return patience }
    // The connection ends before the operation that uses it, so nothing is kept alive in a cycle.
    return patience.asLongAs { !operation.isCancelled }
  }
}
