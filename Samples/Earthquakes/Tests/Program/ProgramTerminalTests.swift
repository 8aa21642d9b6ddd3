import EarthquakeKit
import Foundation
import Testing

/// Runs of the built program on data that would control a terminal.
@Suite(.serialized, .timeLimit(.minutes(2))) struct `The program that is given control characters` {
  private let folder: TemporaryFolder
  private let database: String

  /// A colour, a title of the window in two spellings, and text that runs the other way.
  private static let evil =
    "\u{1B}[31mA\u{1B}]0;B\u{7}C\u{9D}0;D\u{9C}E\u{9B}7m\u{7F}\u{202E}F\u{2066}"

  /// The same as JSON may write it.
  private static let escaped = evil.unicodeScalars.map { scalar in
    scalar.value > 0x7E || scalar.value < 0x20
      ? "\\u" + String(0x1_0000 + scalar.value, radix: 16).dropFirst() : "\(scalar)"
  }
  .joined()

  init() throws {
    folder = try TemporaryFolder()
    database = folder.path("quakes.sqlite")
  }

  /// Runs the program, and checks that it writes nothing that a terminal obeys.
  private func run(
    _ arguments: [String],
    _ environment: [String: String] = [:],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> ProgramRun {
    let run = try ProgramRun(arguments, environment: environment)
    for text in [run.output, run.errors] {
      let harmful = text.unicodeScalars.filter { scalar in
        scalar != "\n"
          && (scalar.properties.generalCategory == .control || scalar.properties.isBidiControl)
      }
      #expect(harmful.isEmpty, "\(text.debugDescription)", sourceLocation: sourceLocation)
    }
    return run
  }

  private func feed(_ text: String) throws -> String {
    try folder.write(Data(text.utf8), to: "feed.geojson")
  }

  private func wholeFeed(_ text: String) throws -> String {
    let feature = FeedText.feature(place: "\"\(text)\"", type: "\"\(text)\"")
    let data = FeedText.feed([feature], url: "https://example.org/\(text)")
    return try feed(String(decoding: data, as: UTF8.self).replacing("A feed", with: text))
  }

  @Test(arguments: ["text", "json"])
  func `in a feed reports them without effect`(format: String) throws {
    let arguments = ["--file", try wholeFeed(Self.escaped), "--database", database, "--verbose"]
    let first = try run(arguments + ["--format", format])
    #expect(first.status == 0)
    let second = try run(arguments + ["--format", format])
    #expect(second.errors.contains("nothing new: the database has “�[31mA�]0;B�C�0;D"))
    #expect(second.output == first.output)
    if format == "json" {
      let report = try first.report()
      #expect((report["strongest"] as? [[String: Any]])?.first?["place"] as? String == Self.evil)
      #expect((report["feeds"] as? [[String: Any]])?.first?["title"] as? String == Self.evil)
    }
  }

  @Test func `in a map that goes to standard output draws them without effect`() throws {
    let arguments = ["--file", try wholeFeed(Self.escaped), "--map", "/dev/stdout", "--quiet"]
    #expect(try run(arguments).output.contains("<svg"))
  }

  @Test func `in a bad feed says what is wrong without effect`() throws {
    for text in [
      "{\"type\":\"\(Self.escaped)\"}", "{\"\(Self.evil.dropFirst())\":[", "{\"a\":\u{9B}",
      "{\"a\":\u{202E}", "{\"a\":\u{7F}", "Not found: \(Self.evil)",
      "{\"type\":\"FeatureCollection\",\"metadata\":\"\(Self.escaped)\"}",
    ] {
      #expect(try run(["--file", try feed(text), "--database", database]).status == 1)
    }
  }

  @Test func `in paths and arguments names them without effect`() throws {
    let path = folder.path(Self.evil)
    #expect(try run(["--file", path]).errors.contains("There is no file at "))
    #expect(try run(["--database", path, "--verbose"]).output.contains("�[31mA�]0;B�C"))
    #expect(try run(["--map", "\(path).svg"]).errors.contains("\nDrew the map "))
    #expect(try run(["--map", folder.path("\(Self.evil)/x")]).status == 1)
    #expect(try run([], ["TMPDIR": path]).status != 0)
    for arguments in [["--feed", Self.evil], ["--max-size", Self.evil], [Self.evil]] {
      let wrong = try run(arguments)
      #expect(wrong.status == 64)
      #expect(wrong.errors.hasPrefix("Error: "))
    }
  }
}
