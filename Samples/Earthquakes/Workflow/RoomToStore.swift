import AdvancedOperations
import EarthquakeKit
import Foundation

/// Holds when the disk has room for what is to be stored, or when nothing is.
///
/// The database is asked only if there is too little: a feed that is not newer than what is stored of
/// it needs none.
struct RoomToStore: ImmediateCondition {
  /// What may have to be stored.
  struct Feed {
    /// How many bytes it has.
    let size: ByteCount
    /// What tells whether it is new; `nil` if it is stored in any case.
    let metadata: FeedMetadata?
  }

  let database: DatabaseAccess
  /// How much more there has to be than the feed has bytes.
  let spare: ByteCount
  /// The feed; `nil` where there is none, which others say.
  let feed: @Sendable () throws -> Feed?

  var name: String { "free space" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    // Why there is no feed is told by the step that failed.
    guard let feed = try? feed() else { return .satisfied }
    let (sum, isTooMuch) = feed.size.bytes.addingReportingOverflow(spare.bytes)
    let space = FreeSpace(atLeast: isTooMuch ? .max : sum, at: database.file.path)
    guard case .failed(let problem) = space.check(operation) else { return .satisfied }
    if let metadata = feed.metadata, isStored(metadata) { return .satisfied }
    return .failed(FileProblem.noRoom(reason: "\(problem)"))
  }

  private func isStored(_ feed: FeedMetadata) -> Bool {
    let found = try? database.openIfPresent()
    return (try? found?.newest(of: feed)) != nil
  }
}

extension EarthquakeDatabase {
  /// When what is stored of a feed was generated; `nil` if the feed is newer, or nothing is stored.
  func newest(of feed: FeedMetadata) throws(EarthquakeDatabaseError) -> Date? {
    guard let stored = try lastGenerated(forFeed: feed.url), stored >= feed.generated else {
      return nil
    }
    return stored
  }
}
