import EarthquakeKit
import Foundation
import SampleTestSupport
import Testing

@Suite struct `A large file that isn't a feed` {
  private static let size = Effort.size(1_000_000)
  private static let long = String(repeating: "long", count: size / 4)
  /// One letter with many accents.
  private static let letter = "e" + String(repeating: "\u{301}", count: size)

  static let texts: [(name: String, text: String)] = [
    ("many arrays", String(repeating: "[", count: size)),
    ("many objects", String(repeating: "{\"a\":", count: size / 5)),
    ("many arrays in a feed", "{\"features\":" + String(repeating: "[", count: size)),
    ("a key that is cut off", "{\"\(long)\":"),
    ("a key and what can't stand there", "{\"\(long)\":}"),
    ("keys in each other", String(repeating: "{\"\(long)\":", count: 3) + "}"),
    ("a type", "{\"type\":\"\(long)\"}"),
    ("a text instead of an object", "{\"type\":\"FeatureCollection\",\"metadata\":\"\(long)\"}"),
    ("a letter as a key", "{\"\(letter)\":}"), ("a letter as a type", "{\"type\":\"\(letter)\"}"),
    ("a letter that can't stand there", "{\(letter)"), ("a letter", letter), ("a text", long),
  ]

  @Test(arguments: texts.indices)
  func `is described in a few lines`(index: Int) throws {
    let error = #expect(throws: FeedError.self) {
      try Feed.parse(Data(Self.texts[index].text.utf8))
    }
    let description = try #require(error).description
    #expect(description.utf8.count < 2_000, "\(Self.texts[index].name)")
  }

  @Test func `is described with the outermost and the innermost places`() throws {
    let arrays = Data(String(repeating: "[", count: Self.size).utf8)
    #expect(
      throws: FeedError.truncated(
        bytes: Self.size,
        path: "[0][0][0][0][0][0]…[0][0][0][0]"
      )
    ) { try Feed.parse(arrays) }
  }

  @Test func `is described with the beginning and the end of a key`() throws {
    #expect(
      throws: FeedError.truncated(
        bytes: Self.size + 4,
        path: "longlonglongl…nglonglonglonglonglonglong"
      )
    ) { try Feed.parse(Data("{\"\(Self.long)\":".utf8)) }
  }
}
