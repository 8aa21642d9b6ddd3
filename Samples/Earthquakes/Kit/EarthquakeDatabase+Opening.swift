import Foundation
import GRDB

extension EarthquakeDatabase {
  /// Opens the database in a file, and creates it if there is no such file.
  ///
  /// A new database is made in one transaction: a process that is killed meanwhile leaves a file
  /// with nothing in it, of which the next one makes a database. If another process makes the same
  /// database at the same time, it is waited for.
  ///
  /// - Parameter path: The path of the file. Its folder has to exist.
  /// - Throws: An ``EarthquakeDatabaseError`` if the file cannot be opened or created, is no
  ///   database, belongs to another program, or was written by a newer version of this one.
  public convenience init(path: String) throws(EarthquakeDatabaseError) {
    try self.init(path: path, patience: Patience())
  }

  /// Opens the database in a file, and creates it if there is no such file.
  ///
  /// - Parameters:
  ///   - path: The path of the file. Its folder has to exist.
  ///   - patience: How long to wait for other processes, now and in every method.
  /// - Throws: As ``init(path:)``.
  package convenience init(
    path: String,
    patience: Patience
  ) throws(EarthquakeDatabaseError) {
    if let obstacle = EarthquakeDatabaseError.obstacle(toOpening: path) { throw obstacle }
    let queue = try Self.translating(path) {
      let queue = try DatabaseQueue(path: path, configuration: Self.configuration(patience))
      try Self.complete(queue, path: path)
      return queue
    }
    self.init(path: path, queue: queue)
  }

  /// Opens the database in a file if there is one; creates none, and changes no file that is none.
  ///
  /// - Parameters:
  ///   - path: The path of the file. Its folder has to exist.
  ///   - patience: How long to wait for other processes, now and in every method.
  /// - Returns: The database, or `nil` where there is nothing, or no more than an attempt to make
  ///   it that was killed.
  /// - Throws: As ``init(path:)``.
  package static func existing(
    path: String,
    patience: Patience = Patience()
  ) throws(EarthquakeDatabaseError) -> EarthquakeDatabase? {
    if let obstacle = EarthquakeDatabaseError.obstacle(toOpening: path) { throw obstacle }
    // Connecting alone would create the file.
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    let queue = try translating(path) { () -> DatabaseQueue? in
      let queue = try DatabaseQueue(path: path, configuration: configuration(patience))
      guard try queue.read({ try DatabaseSchema($0).standing() }) != .unmade else { return nil }
      try complete(queue, path: path)
      return queue
    }
    return queue.map { EarthquakeDatabase(path: path, queue: $0) }
  }

  /// Opens an empty database that lasts as long as the object and leaves no file.
  ///
  /// - Returns: The database.
  /// - Throws: An ``EarthquakeDatabaseError`` if there is no memory for it.
  public static func inMemory() throws(EarthquakeDatabaseError) -> EarthquakeDatabase {
    let path = ":memory:"
    let queue = try translating(path) {
      let queue = try DatabaseQueue(configuration: configuration(Patience()))
      try complete(queue, path: path)
      return queue
    }
    return EarthquakeDatabase(path: path, queue: queue)
  }

  /// Makes sure that a database is one of ours, and makes what is missing of its schema.
  private static func complete(_ queue: DatabaseQueue, path: String) throws {
    // Most databases are complete, so most processes need not wait until they may write.
    var standing = try queue.read { try DatabaseSchema($0).standing() }
    switch standing {
    case .ours(missing: 0), .foreign, .newer: break
    case .ours, .unmade:
      standing = try queue.write { database in
        let schema = DatabaseSchema(database)
        // Looks again: another process may have made it until this one was allowed to write.
        try schema.complete()
        return try schema.standing()
      }
    }
    switch standing {
    case .ours, .unmade: return
    case .foreign: throw EarthquakeDatabaseError.foreign(path: path)
    case .newer: throw EarthquakeDatabaseError.newerVersion(path: path)
    }
  }

  private static func configuration(_ patience: Patience) -> Configuration {
    var configuration = Configuration()
    configuration.busyMode = .callback { patience.pause(after: $0) }
    configuration.label = "Earthquakes"
    return configuration
  }

  private static func translating<Result>(
    _ path: String,
    _ body: () throws -> Result
  ) throws(EarthquakeDatabaseError) -> Result {
    do {
      return try body()
    } catch {
      throw EarthquakeDatabaseError(error, path: path)
    }
  }
}
