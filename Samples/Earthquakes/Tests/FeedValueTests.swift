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
    (
      FeedText.feature(mag: "1e400"), "mag", "the number “1e400”",
      FeedError.SyntaxFault.numberTooLarge
    ),
    (FeedText.feature(mag: "-1e999"), "mag", "the number “-1e999”", .numberTooLarge),
    (FeedText.feature(place: #""\ud800""#), "place", #"“\ud800”"#, .halfCharacter),
    (FeedText.feature(place: #""\ud800\u0041""#), "place", #"“\ud800”"#, .halfCharacter),
    (FeedText.feature(place: #""\udc00""#), "place", #"“\udc00”"#, .halfCharacter),
  ])
  func `is refused with the place of a value that no program can store`(
    feature: String,
    key: String,
    found: String,
    fault: FeedError.SyntaxFault
  ) throws {
    let error = try refusal(FeedText.feed([FeedText.feature(), feature]))
    guard case .malformed(2, let column, "features[1].properties.\(key)", found, fault) = error
    else {
      Issue.record("\(error)")
      return
    }
    // The value of the key begins there; that of the place has a quotation mark in front.
    let start = feature.firstRange(of: "\"\(key)\":")?.upperBound ?? feature.startIndex
    #expect(
      column - 1 - feature.distance(from: feature.startIndex, to: start) == (key == "mag" ? 0 : 1)
    )
  }

  @Test func `is refused when values are too deep in each other`() throws {
    let feature = String(repeating: "[", count: 5_000) + String(repeating: "]", count: 5_000)
    #expect(
      try refusal(FeedText.feed([feature]))
        == .notJSON(looksLike: "JSON with values in each other, on more than 512 levels")
    )
  }

  @Test func `is refused with the place where it is not in UTF-8`() throws {
    var data = FeedText.feed([FeedText.feature(place: "\"Valpara?so\"")])
    let index = try #require(data.firstIndex(of: UInt8(ascii: "?")))
    data[index] = 0xED  // the letter í in ISO 8859-1
    let expected = FeedError.malformed(
      line: 1,
      column: index + 1,
      path: "features[0].properties.place",
      found: "a byte of value 237",
      fault: .notUTF8
    )
    #expect(try refusal(data) == expected)
    #expect(expected.description.hasSuffix("Save the file in UTF-8, or download it again."))
  }
}
