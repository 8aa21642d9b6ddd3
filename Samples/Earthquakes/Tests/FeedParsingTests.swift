import EarthquakeKit
import Foundation
import Testing

@Suite struct `Parsing a feed` {
  private func parseOne(_ feature: String) throws -> Earthquake {
    try #require(try Feed.parse(FeedText.feed([feature])).earthquakes.first)
  }

  @Test func `reads what the feed says about itself`() throws {
    let data = FeedText.feed(
      [],
      generated: "1657040026000",
      url: "https://example.org/all_week.geojson"
    )
    let expected = FeedMetadata(
      generated: Date(timeIntervalSince1970: 1_657_040_026),
      url: "https://example.org/all_week.geojson",
      title: "A feed",
      count: 0
    )
    #expect(try Feed.parse(data) == Feed(metadata: expected, earthquakes: []))
    #expect(try Feed.validate(data) == expected)
  }

  @Test func `reads every field of an event`() throws {
    let earthquake = try parseOne(
      FeedText.feature(
        id: "\"us6000i00z\"",
        mag: "4.1",
        magType: "\"mb\"",
        place: "\"60 km SW of Pyay, Myanmar\"",
        time: "1657038590500",
        updated: "1657039788000",
        type: "\"earthquake\"",
        geometry: #"{"type":"Point","coordinates":[94.8,18.4,35.25]}"#
      )
    )
    #expect(earthquake.id == "us6000i00z")
    #expect(earthquake.magnitude == 4.1)
    #expect(earthquake.magnitudeType == "mb")
    #expect(earthquake.place == "60 km SW of Pyay, Myanmar")
    #expect(earthquake.time == Date(timeIntervalSince1970: 1_657_038_590.5))
    #expect(earthquake.updated == Date(timeIntervalSince1970: 1_657_039_788))
    #expect(earthquake.type == "earthquake")
    #expect(earthquake.location == Location(longitude: 94.8, latitude: 18.4, depth: 35.25))
  }

  @Test func `reads the identities that other networks gave to an event`() throws {
    let feature = FeedText.feature(id: "\"ci2\"", ids: "\",us1,ci2,at3,\"")
    #expect(try parseOne(feature).otherIDs == ["at3", "us1"])
    #expect(try parseOne(FeedText.feature(ids: "null")).otherIDs == [])
    #expect(try parseOne(FeedText.feature(id: "\"ci2\"", ids: "\",,ci2,\"")).otherIDs == [])
  }

  @Test(arguments: ["deleted", "DELETED"])
  func `parsing distinguishes deleted events`(status: String) throws {
    let features = [
      FeedText.feature(id: "\"a\""), FeedText.feature(id: "\"b\"", status: "\"\(status)\""),
      FeedText.feature(id: "\"c\"", status: "null"),
    ]
    let feed = try Feed.parse(FeedText.feed(features))
    #expect(feed.earthquakes.map(\.id) == ["a", "c"])
    #expect(feed.deleted.map(\.id) == ["b"])
  }

  @Test func `keeps the order of the feed`() throws {
    let features = ["\"q\"", "\"a\"", "\"m\""].map { FeedText.feature(id: $0) }
    #expect(try Feed.parse(FeedText.feed(features)).earthquakes.map(\.id) == ["q", "a", "m"])
  }

  @Test func `keeps an event whose properties are null`() throws {
    let earthquake = try parseOne(
      FeedText.feature(
        mag: "null",
        magType: "null",
        place: "null",
        type: "null",
        geometry: "null"
      )
    )
    #expect(earthquake.magnitude == nil)
    #expect(earthquake.magnitudeType == nil)
    #expect(earthquake.place == nil)
    #expect(earthquake.type == nil)
    #expect(earthquake.location == nil)
    #expect(earthquake.depthClass == .unknown)
  }

  @Test func `keeps an event whose properties are missing`() throws {
    let earthquake = try parseOne(
      #"{"type":"Feature","properties":{"time":1000},"id":"bare"}"#
    )
    #expect(
      earthquake
        == Earthquake(
          id: "bare",
          time: Date(timeIntervalSince1970: 1),
          updated: Date(timeIntervalSince1970: 1),
          type: nil
        )
    )
  }

  @Test(arguments: [
    #"{"type":"Point"}"#,
    #"{"type":"Point","coordinates":null}"#,
    #"{"type":"Point","coordinates":[]}"#,
    #"{"type":"Point","coordinates":[10]}"#,
    #"{"type":"Point","coordinates":[null,null,5]}"#,
  ])
  func `knows no place where coordinates are missing`(geometry: String) throws {
    #expect(try parseOne(FeedText.feature(geometry: geometry)).location == nil)
  }

  @Test(arguments: [
    #"{"type":"Point","coordinates":[10,20]}"#, #"{"type":"Point","coordinates":[10,20,null]}"#,
  ])
  func `knows a place without a depth`(geometry: String) throws {
    let location = try parseOne(FeedText.feature(geometry: geometry)).location
    #expect(location == Location(longitude: 10, latitude: 20, depth: nil))
  }

  @Test func `reads negative magnitudes, depths and times before 1970`() throws {
    let earthquake = try parseOne(
      FeedText.feature(
        mag: "-1.05",
        time: "-303281320000",
        geometry: FeedText.point(depth: "-3.5")
      )
    )
    #expect(earthquake.magnitude == -1.05)
    #expect(earthquake.location?.depth == -3.5)
    #expect(earthquake.time == Date(timeIntervalSince1970: -303_281_320))
  }

  @Test(arguments: ["quarry_blast", "quarry blast", "Quarry Blast", " QUARRY__BLAST "])
  func `reads all spellings of a type as one`(spelling: String) throws {
    #expect(try parseOne(FeedText.feature(type: "\"\(spelling)\"")).type == "quarry blast")
  }

  @Test func `leaves different types different`() throws {
    #expect(try parseOne(FeedText.feature(type: "\"quarry\"")).type == "quarry")
    #expect(try parseOne(FeedText.feature(type: "\"\"")).type == nil)
  }

  @Test func `takes an event without a time of update as updated when it happened`() throws {
    let earthquake = try parseOne(FeedText.feature(time: "5000", updated: "null"))
    #expect(earthquake.updated == Date(timeIntervalSince1970: 5))
  }

  @Test func `reads text beyond ASCII and escapes`() throws {
    let earthquake = try parseOne(
      FeedText.feature(place: #""L\u00e9ogâne \"H\u00efspaniola\" \ud83c\udf0b""#)
    )
    #expect(earthquake.place == "Léogâne \"Hïspaniola\" 🌋")
  }

  @Test func `reads a feed that begins with a byte order mark`() throws {
    let data = Data([0xEF, 0xBB, 0xBF]) + FeedText.feed([FeedText.feature()])
    #expect(try Feed.parse(data).earthquakes.count == 1)
  }
}
