public import Foundation

/// A feed of earthquakes: what it says about itself, and its events.
///
/// These are the summary feeds of the U.S. Geological Survey. Their format is GeoJSON with additions, described at
/// <https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php>.
///
/// ```swift
/// let data = try Data(contentsOf: file)
/// try Feed.validate(data)           // whole, and the right kind of file?
/// let feed = try Feed.parse(data)   // then its events
/// ```
public struct Feed: Sendable, Hashable {
  /// What the feed says about itself.
  public var metadata: FeedMetadata

  /// The events in the order of the feed, without those that are deleted.
  public var earthquakes: [Earthquake]

  /// The events that their network has deleted, because there was no earthquake, for example.
  public var deleted: [Earthquake]

  /// Creates a feed from its parts.
  ///
  /// - Parameters:
  ///   - metadata: What the feed says about itself.
  ///   - earthquakes: The events.
  ///   - deleted: The events that their network has deleted.
  public init(metadata: FeedMetadata, earthquakes: [Earthquake], deleted: [Earthquake] = []) {
    self.metadata = metadata
    self.earthquakes = earthquakes
    self.deleted = deleted
  }

  /// Checks that data is a whole feed, without reading its events.
  ///
  /// The data has to be JSON, a `FeatureCollection` with `metadata` and `features`, and have as
  /// many features as `metadata.count` says. What each event says is checked by ``parse(_:)``.
  ///
  /// - Parameter data: The bytes of the feed.
  /// - Returns: What the feed says about itself.
  /// - Throws: A ``FeedError`` that says what is wrong and where.
  /// - Complexity: O(*n*) in the number of bytes.
  @discardableResult
  public static func validate(_ data: Data) throws(FeedError) -> FeedMetadata {
    try decode(FeedDocument<AnyFeature>.self, from: data).metadata
  }

  /// Reads a feed, after the same checks that ``validate(_:)`` makes.
  ///
  /// An event without a place or without a magnitude is kept. An event that gives no time of its
  /// last update counts as updated when it happened, so any later description replaces it.
  ///
  /// The decoder needs all bytes at the same time, and so does the result all events. Data that is mapped
  /// from a file, as that of ``download(_:timeout:atMost:)``, takes no memory besides.
  ///
  /// - Parameter data: The bytes of the feed.
  /// - Returns: The feed with all of its events.
  /// - Throws: A ``FeedError`` that says what is wrong and where.
  /// - Complexity: O(*n*) in the number of bytes.
  public static func parse(_ data: Data) throws(FeedError) -> Feed {
    let document = try decode(FeedDocument<FeatureDocument>.self, from: data)
    return Feed(
      metadata: document.metadata,
      earthquakes: document.features.filter { !$0.isDeleted }.map(\.earthquake),
      deleted: document.features.filter(\.isDeleted).map(\.earthquake)
    )
  }

  private static func decode<Feature>(
    _ type: FeedDocument<Feature>.Type,
    from data: Data
  ) throws(FeedError) -> FeedDocument<Feature> {
    let document: FeedDocument<Feature>
    do {
      document = try JSONDecoder().decode(type, from: data)
    } catch {
      throw FeedDiagnosis.feedError(for: error, in: data)
    }
    // Foundation accepts a comma that is one too many, and other readers of the file don't.
    if JSONSyntaxScanner.mayHaveExtraComma(data),
      let error = FeedDiagnosis.syntaxProblem(in: data)
    {
      throw error
    }
    guard document.features.count == document.metadata.count else {
      throw .countMismatch(declared: document.metadata.count, found: document.features.count)
    }
    return document
  }
}
