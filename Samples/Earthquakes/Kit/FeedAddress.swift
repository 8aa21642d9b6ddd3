public import Foundation

/// The address of a summary feed.
///
/// The U.S. Geological Survey publishes them and renews them every few minutes. A feed is named by how strong its events are and how far back it reaches:
/// `significant`, `4.5`, `2.5`, `1.0` or `all`, then `hour`, `day`, `week` or `month`.
///
/// ```swift
/// let feed = try FeedAddress(named: "4.5_week")
/// let data = try await download(feed.url, timeout: .seconds(30))
/// ```
public struct FeedAddress: Sendable, Hashable {
  /// The name of the feed, such as `4.5_week`.
  public let name: String

  /// Where the feed is published.
  public var url: URL {
    let address = "https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/\(name).geojson"
    guard let url = URL(string: address) else {
      preconditionFailure("The address \(address) of a feed is not a URL.")
    }
    return url
  }

  /// All feeds, those of the strongest events first, each from the hour to the month.
  public static let all: [FeedAddress] = ["significant", "4.5", "2.5", "1.0", "all"]
    .flatMap { strength in
      ["hour", "day", "week", "month"].map { FeedAddress(knownName: "\(strength)_\($0)") }
    }

  /// Finds the feed of a name.
  ///
  /// - Parameter name: The name, such as `significant_month`.
  /// - Throws: A ``FeedAddressError`` if there is no feed of that name.
  public init(named name: String) throws(FeedAddressError) {
    guard Self.all.contains(where: { $0.name == name }) else {
      throw FeedAddressError(name: name, validNames: Self.all.map(\.name))
    }
    self.init(knownName: name)
  }

  private init(knownName: String) {
    name = knownName
  }
}
