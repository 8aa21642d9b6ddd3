import EarthquakeKit
import Foundation
import Testing

/// Checks with feeds as they were really published; what is expected is read from them another way.
@Suite struct `A feed that was really published` {
  private func features(_ data: Data) throws -> [[String: Any]] {
    let root = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    return try #require(root["features"] as? [[String: Any]])
  }

  private func properties(_ data: Data) throws -> [[String: Any]] {
    try features(data).map { try #require($0["properties"] as? [String: Any]) }
  }

  @Test(arguments: RealFeed.allCases)
  func `is stored with as many events as it says`(feed: RealFeed) throws {
    guard let data = try feed.data(for: "storing as many events as metadata.count") else { return }
    let metadata = try Feed.validate(data)
    let database = try EarthquakeDatabase.inMemory()
    let summary = try database.store(try Feed.parse(data))
    #expect(summary == StoreSummary(inserted: metadata.count))
    #expect(try database.count() == metadata.count)
    #expect(try database.lastGenerated(forFeed: metadata.url) == metadata.generated)
  }

  @Test(arguments: RealFeed.allCases)
  func `changes nothing when it is stored again`(feed: RealFeed) throws {
    guard let data = try feed.data(for: "storing twice") else { return }
    let database = try EarthquakeDatabase.inMemory()
    let feed = try Feed.parse(data)
    try database.store(feed)
    let report = try database.report()
    #expect(try database.store(feed) == StoreSummary(unchanged: feed.metadata.count))
    #expect(try database.report() == report)
  }

  @Test(arguments: RealFeed.allCases)
  func `is reported with the numbers that are in it`(feed: RealFeed) throws {
    guard let data = try feed.data(for: "numbers of the report") else { return }
    let database = try EarthquakeDatabase.inMemory()
    try database.store(try Feed.parse(data))
    let report = try database.report()
    let properties = try properties(data)
    let magnitudes = properties.compactMap { ($0["mag"] as? NSNumber)?.doubleValue }
    #expect(
      report.strongest.compactMap(\.magnitude) == magnitudes.sorted(by: >).prefix(10).map(\.self)
    )
    for bin in report.magnitudeBins {
      #expect(bin.count == magnitudes.count { $0.rounded(.down) == Double(bin.from) })
    }
    #expect(report.magnitudeBins.map(\.count).reduce(0, +) == magnitudes.count)
    #expect(report.unknownMagnitudes == properties.count - magnitudes.count)
    let types = properties.compactMap { $0["type"] as? String }
    for (type, count) in report.countsByType {
      #expect(count == types.count { $0.replacing("_", with: " ") == type })
    }
    let depths = try features(data).compactMap { feature in
      ((feature["geometry"] as? [String: Any])?["coordinates"] as? [NSNumber])?[2].doubleValue
    }
    #expect(report.depths.shallow == depths.count { $0 < 70 })
    #expect(report.depths.deep == depths.count { $0 > 300 })
    #expect(report.depths.intermediate == depths.count { (70...300).contains($0) })
  }

  @Test(arguments: RealFeed.allCases)
  func `is drawn with a circle for each event`(feed: RealFeed) throws {
    guard let data = try feed.data(for: "circles of the map") else { return }
    let feed = try Feed.parse(data)
    let svg = EarthquakeMap(title: feed.metadata.title, earthquakes: feed.earthquakes).svg()
    let content = SVGContent(svg)
    #expect(content.isWellFormed)
    #expect(content.elements("circle", in: "events").count == feed.metadata.count)
  }

  @Test(arguments: RealFeed.allCases)
  func `is refused when it is cut off`(feed: RealFeed) throws {
    guard let data = try feed.data(for: "refusing what was cut off") else { return }
    for length in [1, data.count / 3, data.count / 2, data.count - 1] {
      let error = #expect(throws: FeedError.self) { try Feed.validate(data.prefix(length)) }
      guard case .truncated(length, _) = error else {
        Issue.record("After \(length) bytes: \(error.debugDescription)")
        continue
      }
    }
  }

  @Test(arguments: RealFeed.allCases)
  func `is refused when an event is missing from it`(feed: RealFeed) throws {
    guard let data = try feed.data(for: "refusing a feed that lacks an event") else { return }
    var root = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    let features = try features(data)
    root["features"] = Array(features.dropLast())
    let shortened = try JSONSerialization.data(withJSONObject: root)
    #expect(
      throws: FeedError.countMismatch(declared: features.count, found: features.count - 1)
    ) {
      try Feed.validate(shortened)
    }
  }
}
