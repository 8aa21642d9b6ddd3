import EarthquakeKit
import Foundation
import Testing

@Suite struct `A file that isn't a feed` {
  private func refusal(_ data: Data) throws -> FeedError {
    let error = #expect(throws: FeedError.self) { try Feed.parse(data) }
    return try #require(error)
  }

  private func refusal(_ text: String) throws -> FeedError {
    try refusal(Data(text.utf8))
  }

  @Test func `is refused when it is empty`() throws {
    #expect(try refusal("") == .empty)
    #expect(throws: FeedError.empty) { try Feed.validate(Data()) }
  }

  @Test(arguments: [
    ("<!DOCTYPE html>\n<html><body>Not found</body></html>", "an HTML page"),
    ("\n  <html lang=\"en\">", "an HTML page"),
    ("<?xml version=\"1.0\"?><quakeml/>", "XML"),
    ("PK\u{3}\u{4}rest", "a ZIP archive"),
    ("Service Unavailable\nTry later", "text that begins “Service Unavailable”"),
    (" \n\t ", "white space only"),
    ("\u{FEFF}", "white space only"), ("a\0b", "binary data"),
  ])
  func `is refused with what it looks like`(text: String, looksLike: String) throws {
    #expect(try refusal(text) == .notJSON(looksLike: looksLike))
    #expect(throws: FeedError.notJSON(looksLike: looksLike)) {
      try Feed.validate(Data(text.utf8))
    }
  }

  @Test func `is refused when it is compressed or no text`() throws {
    #expect(
      try refusal(Data([0x1F, 0x8B, 8, 0, 0, 0]))
        == .notJSON(looksLike: "data compressed by gzip")
    )
    #expect(try refusal(Data([0xFF, 0xD8, 0xFF, 0xE0])) == .notJSON(looksLike: "binary data"))
  }

  @Test func `is refused with the place where it was cut off`() throws {
    let whole = String(decoding: FeedText.feed([FeedText.feature()]), as: UTF8.self)
    let cut = try #require(whole.range(of: "Some")).upperBound
    let part = String(whole[..<cut])
    let expected = FeedError.truncated(
      bytes: part.utf8.count,
      path: "features[0].properties.place"
    )
    #expect(try refusal(part) == expected)
    #expect(throws: expected) { try Feed.validate(Data(part.utf8)) }
  }

  @Test func `is refused as cut off wherever that was`() throws {
    let whole = FeedText.feed([FeedText.feature(mag: "-1.5e-1"), FeedText.feature(type: "null")])
    for length in 1..<whole.count {
      let error = try refusal(whole.prefix(length))
      guard case .truncated(length, _) = error else {
        Issue.record("After \(length) bytes: \(error)")
        return
      }
    }
  }

  @Test func `is refused with line and column where it breaks the rules of JSON`() throws {
    let text = "{\"type\":\"FeatureCollection\",\n\"metadata\":{\"generated\":1]}"
    let expected = FeedError.malformed(
      line: 2,
      column: 26,
      path: "metadata.generated",
      found: "“]”",
      fault: .unexpected
    )
    #expect(try refusal(text) == expected)
    // A byte order mark takes no column.
    #expect(try refusal("\u{FEFF}" + text) == expected)
    #expect(
      try refusal("\u{FEFF}{]")
        == .malformed(line: 1, column: 2, path: "", found: "“]”", fault: .unexpected)
    )
  }

  @Test func `is refused with the place of a comma that is one too many`() throws {
    let text = String(decoding: FeedText.feed([FeedText.feature(place: "\"é,]\"")]), as: UTF8.self)
    #expect(throws: Never.self) { try Feed.parse(Data(text.utf8)) }
    for (end, extra, line, path) in [
      ("}]}", "},]}", 1, "features"), ("}]}", "},\n ]}", 2, "features"), ("}]}", "}],}", 1, ""),
      ("}]}", ",}]}", 1, "features[0]"), ("30]", "30,]", 1, "features[0].geometry.coordinates"),
    ] {
      let wrong = text.replacing(end, with: extra)
      let error = try refusal(wrong)
      guard case .malformed(line, let column, path, let found, .extraComma) = error else {
        Issue.record("\(extra): \(error)")
        continue
      }
      let lines = wrong.split(separator: "\n")
      #expect("“\(Array(lines[line - 1])[column - 1])”" == found)
      #expect(
        error.description.hasSuffix("after a comma. Remove the comma, or download the feed again.")
      )
      #expect(throws: error) { try Feed.validate(Data(wrong.utf8)) }
    }
  }

  @Test func `is refused when something follows its end`() throws {
    let whole = FeedText.feed([])
    #expect(
      try refusal(whole + Data("x".utf8))
        == .malformed(line: 1, column: whole.count + 1, path: "", found: "“x”", fault: .unexpected)
    )
  }

  @Test(arguments: [
    ("[]", "an array"), ("[{}]", "an array"), ("12", "the number 12"), ("null", "null"),
    ("\"text\"", "the text “text”"), ("true", "true"),
  ])
  func `is refused when it is JSON but no object`(text: String, found: String) throws {
    #expect(try refusal(text) == .unexpected(at: "", expected: "an object", found: found))
  }

  @Test func `is refused with the key that is missing`() throws {
    let whole = String(decoding: FeedText.feed([FeedText.feature()]), as: UTF8.self)
    func without(_ text: String) -> String { whole.replacing(text, with: "") }
    #expect(try refusal("{}") == .missing(key: "type", path: ""))
    #expect(
      try refusal(#"{"type":"FeatureCollection","features":[]}"#)
        == .missing(key: "metadata", path: "")
    )
    #expect(
      try refusal(without(#","count":1"#)) == .missing(key: "count", path: "metadata")
    )
    #expect(
      try refusal(whole.replacing("\"features\":", with: "\"quakes\":"))
        == .missing(key: "features", path: "")
    )
    #expect(
      try refusal(without(#","id":"x1""#)) == .missing(key: "id", path: "features[0]")
    )
    #expect(
      try refusal(without(#""time":1577836800000,"#))
        == .missing(key: "time", path: "features[0].properties")
    )
  }

  @Test func `a file is refused with its wrong value and the expected value`() throws {
    func found(_ feature: String) throws -> FeedError {
      try refusal(FeedText.feed([FeedText.feature(), feature]))
    }
    #expect(
      try refusal(#"{"type":"Topology","metadata":{},"features":[]}"#)
        == .unexpected(
          at: "type",
          expected: "the text “FeatureCollection”",
          found: "the text “Topology”"
        )
    )
    #expect(
      try refusal(#"{"type":"FeatureCollection","metadata":7,"features":[]}"#)
        == .unexpected(at: "metadata", expected: "an object", found: "the number 7")
    )
    #expect(
      try found(FeedText.feature(time: "\"yesterday\""))
        == .unexpected(
          at: "features[1].properties.time",
          expected: "a number",
          found: "the text “yesterday”"
        )
    )
    #expect(
      try found(FeedText.feature(time: "null"))
        == .unexpected(
          at: "features[1].properties.time",
          expected: "a number",
          found: "null"
        )
    )
    #expect(
      try refusal(FeedText.feed([], count: "0.5"))
        == .unexpected(
          at: "metadata.count",
          expected: "a whole number",
          found: "the number 0.5"
        )
    )
    #expect(
      try found(FeedText.feature(id: "17"))
        == .unexpected(at: "features[1].id", expected: "a text", found: "the number 17")
    )
    #expect(
      try found(FeedText.feature(mag: "[1]"))
        == .unexpected(
          at: "features[1].properties.mag",
          expected: "a number",
          found: "an array"
        )
    )
    #expect(
      try found("null")
        == .unexpected(at: "features[1]", expected: "an object", found: "null")
    )
  }

  @Test(arguments: [0, 1, 3])
  func `is refused when it has another number of events than it says`(declared: Int) {
    let data = FeedText.feed([FeedText.feature(), FeedText.feature()], count: "\(declared)")
    let expected = FeedError.countMismatch(declared: declared, found: 2)
    #expect(throws: expected) { try Feed.validate(data) }
    #expect(throws: expected) { try Feed.parse(data) }
  }

  @Test func `passes validation with events that parsing refuses`() throws {
    let data = FeedText.feed([FeedText.feature(time: "null")])
    #expect(try Feed.validate(data).count == 1)
    #expect(throws: FeedError.self) { try Feed.parse(data) }
  }

  @Test(arguments: [
    (FeedError.empty, "0 bytes"),
    (.notJSON(looksLike: "an HTML page"), "looks like an HTML page"),
    (
      .truncated(bytes: 65_536, path: "features[3].id"), "after 65,536 bytes, inside features[3].id"
    ),
    (
      .malformed(line: 1_200, column: 7, path: "", found: "“}”", fault: .unexpected),
      "in line 1,200, column 7, inside the outermost value, is “}”, which cannot be there."
    ),
    (
      .malformed(
        line: 1,
        column: 7,
        path: "a",
        found: "the number “1e400”",
        fault: .numberTooLarge
      ),
      "is the number “1e400”, which is larger than the largest number of a program. Correct it"
    ),
    (
      .malformed(line: 1, column: 7, path: "a", found: "“\\ud800”", fault: .halfCharacter),
      "which is half of a character."
    ),
    (.missing(key: "count", path: "metadata"), "metadata has no “count”"),
    (.missing(key: "type", path: ""), "the outermost value has no “type”"),
    (
      .unexpected(at: "type", expected: "a text", found: "null"),
      "type should be a text but is null"
    ),
    (.countMismatch(declared: 1_880, found: 1_879), "promises 1,880 events, but it has 1,879"),
  ])
  func `is described in whole sentences`(error: FeedError, part: String) {
    #expect(error.description.contains(part))
    #expect(error.description.hasPrefix("The "))
    #expect(error.description.hasSuffix("."))
    #expect(error.localizedDescription == error.description)
  }
}
