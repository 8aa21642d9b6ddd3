import EarthquakeKit
import Foundation
import Testing

@Suite struct `A feed with impossible values` {
  private func refusal(_ data: Data) throws -> FeedError {
    let error = #expect(throws: FeedError.self) { try Feed.parse(data) }
    return try #require(error)
  }

  @Test func `is refused when a value is beyond anything possible`() throws {
    #expect(
      try refusal(FeedText.feed([FeedText.feature(mag: "99")]))
        == .unexpected(
          at: "features[0].properties.mag",
          expected: "a number from -20 to 20",
          found: "the number 99"
        )
    )
    #expect(
      try refusal(
        FeedText.feed([
          FeedText.feature(geometry: #"{"type":"Point","coordinates":[0,91,0]}"#)
        ])
      )
        == .unexpected(
          at: "features[0].geometry.coordinates[1]",
          expected: "a number from -90 to 90",
          found: "the number 91"
        )
    )
  }

  @Test(arguments: [
    ("9000000000000000000", "9000000000000000000"), ("1.5", "1.5"), ("1e30", "1e+30"),
    ("-11676096000001", "-11676096000001"), ("253402300800000", "253402300800000"),
  ])
  func `is refused when a time is impossible`(time: String, found: String) throws {
    #expect(
      try refusal(FeedText.feed([FeedText.feature(time: time)]))
        == .unexpected(
          at: "features[0].properties.time",
          expected: "a time in whole milliseconds since 1970, between the years 1600 and 9999",
          found: "the number \(found)"
        )
    )
  }

  @Test(arguments: [
    FeedText.feature(mag: "1e400"), FeedText.feature(place: #""\ud800""#),
    String(repeating: "[", count: 5_000) + String(repeating: "]", count: 5_000),
  ])
  func `is refused when Foundation can make no value of it`(feature: String) throws {
    #expect(
      try refusal(FeedText.feed([feature]))
        == .notJSON(
          looksLike: "JSON with a number, a character or a depth that is beyond all bounds"
        )
    )
  }

  @Test func `is refused when it is not in UTF-8`() throws {
    var data = FeedText.feed([FeedText.feature(place: "\"Valpara?so\"")])
    let index = try #require(data.firstIndex(of: UInt8(ascii: "?")))
    data[index] = 0xED  // the letter í in ISO 8859-1
    #expect(try refusal(data) == .notJSON(looksLike: "text that is not encoded in UTF-8"))
  }
}
