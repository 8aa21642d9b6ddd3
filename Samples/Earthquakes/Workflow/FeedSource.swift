public import EarthquakeKit

/// Where a feed comes from.
public enum FeedSource: Sendable, Hashable {
  /// The catalogue of notable earthquakes that comes with the program.
  case shipped

  /// A file that was downloaded before.
  case file(path: String)

  /// A feed of the U.S. Geological Survey, by its name, such as `4.5_week`.
  case published(name: String)
}

extension FeedSource {
  /// The path of the file, or the name of the feed.
  private var name: String {
    switch self {
    case .shipped: "notable.geojson"
    case .file(let path): path
    case .published(let name): "\(name).geojson"
    }
  }

  /// Reads the feed; an error says which feed it is about.
  func namingItself<Result>(_ read: () throws -> Result) throws -> Result {
    do {
      return try read()
    } catch let error as FeedError {
      throw BadFeed(name: name, error: error)
    }
  }
}

/// What is wrong with which feed.
public struct BadFeed: Error, Sendable, Hashable, CustomStringConvertible {
  /// The path of the file, or the name of the feed.
  public let name: String

  /// What is wrong with it.
  public let error: FeedError

  /// The name, and then whole sentences that say what is wrong, and what to do.
  public var description: String { "\(name): \(error)" }
}
