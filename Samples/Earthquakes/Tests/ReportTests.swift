import Foundation
import Testing

@testable import EarthquakeKit

@Suite struct `A report` {
  private func report(of data: Data) throws -> Report {
    let database = try EarthquakeDatabase.inMemory()
    try database.store(try Feed.parse(data))
    return try database.report()
  }

  private func report(of features: [String]) throws -> Report {
    try report(of: FeedText.feed(features))
  }

  @Test func `counts events and says from when to when`() throws {
    let report = try report(of: TinyFeed.data)
    #expect(report.count == 8)
    // h happened on 22 May 1960 at 19:11:20, g on 7 January 2020.
    #expect(report.firstTime?.isoSeconds == "1960-05-22T19:11:20Z")
    #expect(report.lastTime?.isoSeconds == "2020-01-07T00:00:00Z")
  }

  @Test func `counts the spellings of a type together`() throws {
    // a, b, h; c, d, e in three spellings; g; f says nothing.
    #expect(
      try report(of: TinyFeed.data).countsByType
        == ["earthquake": 3, "quarry blast": 3, "explosion": 1, "unknown": 1]
    )
  }

  @Test func `lists the strongest first, of equal ones the latest`() throws {
    // h 8.25, g and a 5.0 with g later, b 4.99, f 0, c -0.5, d -1; e is of unknown magnitude.
    #expect(
      try report(of: TinyFeed.data).strongest.map(\.id) == ["h", "g", "a", "b", "f", "c", "d"]
    )
  }

  @Test func `lists no more than ten of the strongest`() throws {
    let features = (1...12).map { FeedText.feature(id: "\"m\($0)\"", mag: "\($0)") }
    #expect(
      try report(of: features).strongest.map(\.magnitude) == [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]
    )
  }

  @Test func `counts magnitudes by whole numbers, without a gap`() throws {
    let report = try report(of: TinyFeed.data)
    // c and d from -1 to 0, f at 0, b below 5, a and g at 5, h above 8; e is unknown.
    let expected = [-1: 2, 0: 1, 1: 0, 2: 0, 3: 0, 4: 1, 5: 2, 6: 0, 7: 0, 8: 1]
    #expect(report.magnitudeBins.map(\.from) == Array(-1...8))
    #expect(report.magnitudeBins.allSatisfy { $0.count == expected[$0.from] })
    #expect(report.unknownMagnitudes == 1)
  }

  @Test(arguments: [
    ("-2", -2), ("-1.999", -2), ("-1.0", -1), ("-0.001", -1), ("-0.0", 0), ("0", 0), ("0.999", 0),
    ("1", 1), ("4.99", 4), ("5.0", 5), ("9.5", 9),
  ])
  func `counts a magnitude in the bin that it begins or is inside of`(
    magnitude: String,
    bin: Int
  ) throws {
    let report = try report(of: [FeedText.feature(mag: magnitude)])
    #expect(report.magnitudeBins == [MagnitudeBin(from: bin, count: 1)])
    #expect(report.magnitudeBins.first?.below == bin + 1)
  }

  @Test func `counts depths`() throws {
    // a and c are shallow, b and d on the limits of intermediate, e and h deep, f and g unknown.
    #expect(
      try report(of: TinyFeed.data).depths
        == DepthCounts(shallow: 2, intermediate: 2, deep: 2, unknown: 2)
    )
  }

  @Test(arguments: [
    (-3.5, DepthClass.shallow), (0, .shallow), (69.999, .shallow), (70, .intermediate),
    (300, .intermediate), (300.001, .deep), (700, .deep),
  ])
  func `counts a depth in the same class as the event says`(
    depth: Double,
    depthClass: DepthClass
  ) throws {
    #expect(DepthClass(depth: depth) == depthClass)
    let depths = try report(of: [FeedText.feature(geometry: FeedText.point(depth: "\(depth)"))])
      .depths
    #expect(depths[depthClass] == 1)
    #expect(DepthClass.allCases.map { depths[$0] }.reduce(0, +) == 1)
  }

  @Test func `is of all that the database holds, not of the last feed`() throws {
    let database = try EarthquakeDatabase.inMemory()
    try database.store(
      try Feed.parse(FeedText.feed([FeedText.feature(id: "\"1\"")], url: "https://b.org"))
    )
    try database.store(
      try Feed.parse(FeedText.feed([FeedText.feature(id: "\"2\"")], url: "https://a.org"))
    )
    let report = try database.report()
    #expect(report.count == 2)
    #expect(report.feeds.map(\.url) == ["https://a.org", "https://b.org"])
    #expect(report.feeds.map(\.count) == [1, 1])
  }

  @Test func `of an empty database is empty`() throws {
    #expect(try EarthquakeDatabase.inMemory().report() == Report())
  }

  @Test func `has every documented field in its JSON, in alphabetical order`() throws {
    for report in [try report(of: TinyFeed.data), Report()] {
      let json = try report.json()
      let object = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
      let keys = [
        "deletedCount", "depths", "eventCount", "feeds", "firstTime", "lastTime", "magnitudes",
        "strongest",
        "types",
        "unknownMagnitudes",
      ]
      #expect(object.keys.sorted() == keys)
      let text = String(decoding: json, as: UTF8.self)
      // Two spaces and a quotation mark begin a line of the outermost object.
      let written = text.split(separator: "\n").filter { $0.hasPrefix("  \"") }
        .compactMap { $0.split(separator: "\"").dropFirst().first.map(String.init) }
      #expect(written == keys)
      #expect(text.hasSuffix("}\n"))
      #expect(try report.json() == json)
    }
  }

  @Test func `writes times as ISO 8601 and what is unknown as null`() throws {
    let json = String(decoding: try report(of: TinyFeed.data).json(), as: UTF8.self)
    #expect(json.contains(#""firstTime" : "1960-05-22T19:11:20.000Z""#))
    #expect(json.contains(#""time" : "2020-01-02T00:00:00.500Z""#))
    #expect(json.contains(#""url" : "https://example.org/feed.geojson""#))
    #expect(json.contains(#""location" : null"#))
    #expect(json.contains(#""depth" : null"#))
    #expect(json.contains(#""place" : null"#))
    #expect(String(decoding: try Report().json(), as: UTF8.self).contains(#""lastTime" : null"#))
  }
}
