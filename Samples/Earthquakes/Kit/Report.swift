public import Foundation

/// What a database holds, in numbers: always of all its events, never of one feed.
///
/// `EarthquakeDatabase.report()` makes it; ``text(width:colour:)`` writes it for people and
/// ``json()`` for programs.
public struct Report: Sendable, Hashable, Encodable {
  /// The number of events.
  public var count: Int

  /// The number of events that their network has deleted; no other number counts them.
  public var deletedCount: Int

  /// When the earliest event happened, or `nil` if there is none.
  public var firstTime: Date?

  /// When the latest event happened, or `nil` if there is none.
  public var lastTime: Date?

  /// The number of events of each type; those that give none are under `unknown`.
  public var countsByType: [String: Int]

  /// The ten strongest events, or all if there are fewer, the strongest first.
  ///
  /// Of equally strong ones the latest comes first. Events of unknown magnitude are not listed.
  public var strongest: [Earthquake]

  /// The number of events of each whole magnitude, lowest first and without a gap.
  public var magnitudeBins: [MagnitudeBin]

  /// The number of events of unknown magnitude.
  public var unknownMagnitudes: Int

  /// The number of events at each depth.
  public var depths: DepthCounts

  /// The feeds that were stored, each as of its newest writing, in the order of their addresses.
  public var feeds: [FeedMetadata]

  /// Creates a report from its numbers; without arguments, that of an empty database.
  ///
  /// - Parameters:
  ///   - count: The number of events.
  ///   - deletedCount: The number of events that their network has deleted.
  ///   - firstTime: When the earliest event happened.
  ///   - lastTime: When the latest event happened.
  ///   - countsByType: The number of events of each type.
  ///   - strongest: The strongest events, the strongest first.
  ///   - magnitudeBins: The number of events of each whole magnitude.
  ///   - unknownMagnitudes: The number of events of unknown magnitude.
  ///   - depths: The number of events at each depth.
  ///   - feeds: The feeds that were stored.
  public init(
    count: Int = 0,
    deletedCount: Int = 0,
    firstTime: Date? = nil,
    lastTime: Date? = nil,
    countsByType: [String: Int] = [:],
    strongest: [Earthquake] = [],
    magnitudeBins: [MagnitudeBin] = [],
    unknownMagnitudes: Int = 0,
    depths: DepthCounts = DepthCounts(),
    feeds: [FeedMetadata] = []
  ) {
    self.count = count
    self.deletedCount = deletedCount
    self.firstTime = firstTime
    self.lastTime = lastTime
    self.countsByType = countsByType
    self.strongest = strongest
    self.magnitudeBins = magnitudeBins
    self.unknownMagnitudes = unknownMagnitudes
    self.depths = depths
    self.feeds = feeds
  }
}
