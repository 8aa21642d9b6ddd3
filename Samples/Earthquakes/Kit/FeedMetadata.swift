public import Foundation

/// What a feed says about itself.
public struct FeedMetadata: Sendable, Hashable, Encodable {
  /// When the feed was written, to the millisecond.
  public var generated: Date

  /// The address that the feed gives as its own; tells one feed from another.
  public var url: String

  /// The name of the feed for people, such as `USGS All Earthquakes, Past Week`.
  public var title: String

  /// The number of events that the feed says it has.
  public var count: Int

  /// Creates a description of a feed.
  ///
  /// - Parameters:
  ///   - generated: When the feed was written.
  ///   - url: The address of the feed.
  ///   - title: The name of the feed.
  ///   - count: The number of its events.
  public init(generated: Date, url: String, title: String, count: Int) {
    self.generated = generated
    self.url = url
    self.title = title
    self.count = count
  }
}
