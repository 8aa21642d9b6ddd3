import AdvancedOperations
import EarthquakeKit

/// Holds when a feed was generated after what is stored of the same feed; otherwise there is
/// nothing to do, which is no failure.
///
/// It is immediate, so it is asked once more when the operation had to wait for the database:
/// another run may have stored the same feed meanwhile. It saves work, and nothing depends on its
/// being the last word: storing what is there already changes nothing.
struct FeedIsNewer: ImmediateCondition {
  /// Knows what the feed says about itself; a dependency of the operation.
  let validate: ResultOperation<FeedMetadata>
  let database: DatabaseAccess

  var name: String { "feed is newer" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    do {
      guard let feed = try validate.result?.get(),
        let known = try database.openIfPresent(for: operation),
        let stored = try known.lastGenerated(forFeed: feed.url),
        stored >= feed.generated
      else { return .satisfied }
      return .skipped(
        reason: "nothing new: the database has “\(feed.title.excerpt(60))” as of "
          + "\(stored.isoSeconds) already"
      )
    } catch {
      return .failed(error)
    }
  }
}
