import EarthquakeKit
import Foundation
import Testing

@Suite struct `The text of a report` {
  private func report() throws -> Report {
    let database = try EarthquakeDatabase.inMemory()
    try database.store(try Feed.parse(TinyFeed.data))
    return try database.report()
  }

  private func lines(width: Int) throws -> [String] {
    try report().text(width: width, colour: false).split(separator: "\n").map(String.init)
  }

  @Test func `says what there is`() throws {
    let text = try report().text(width: 80, colour: false)
    #expect(text.contains("  8 events\n  from 1960-05-22T19:11:20Z to 2020-01-07T00:00:00Z\n"))
    #expect(text.contains("earthquake            3\n"))
    // 8.25 is halfway, and C rounds halves to even digits.
    #expect(text.contains("   8.2  1960-05-22T19:11:20Z    600 km deep  Place h\n"))
    #expect(text.contains("   5.0  2020-01-07T00:00:00Z  unknown depth  Place g\n"))
    #expect(text.contains("   0.0  2020-01-06T00:00:00Z  unknown depth  unknown place\n"))
    #expect(text.contains("    generated 2020-09-13T12:26:40Z with 8 events\n"))
  }

  @Test func `draws bars to the width`() throws {
    let lines = try lines(width: 60)
    // Two columns of margin, nine of label, two, one of count and two leave 44 for the bars.
    let long = String(repeating: "█", count: 44)
    let half = String(repeating: "█", count: 22)
    #expect(lines.contains(" -1 to <0  2  \(long)".indented))
    #expect(lines.contains("  0 to <1  1  \(half)".indented))
    #expect(lines.contains("  2 to <3  0".indented))
    #expect(lines.contains("unknown    1  \(half)".indented))
  }

  @Test func `draws a bar for whatever is there at all`() throws {
    let report = Report(
      count: 100_001,
      magnitudeBins: [MagnitudeBin(from: 1, count: 100_000), MagnitudeBin(from: 2, count: 1)]
    )
    let text = report.text(width: 80, colour: false)
    #expect(text.contains("  2 to <3        1  ▏\n"))
  }

  @Test func `a report has one column in a narrow terminal`() throws {
    let lines = try lines(width: 40)
    #expect(lines.contains("from 1960-05-22T19:11:20Z".indented))
    #expect(lines.contains("to 2020-01-07T00:00:00Z".indented))
    #expect(lines.contains(" 8.2  1960-05-22T19:11:20Z  Place h".indented))
    #expect(lines.contains("    generated 2020-09-13T12:26:40Z"))
    #expect(lines.contains("    with 8 events"))
    // Two columns of margin, nine of label, two, one of count and two leave 24 for the bars.
    #expect(lines.contains(" -1 to <0  2  \(String(repeating: "█", count: 24))".indented))
    let empty = try EarthquakeDatabase.inMemory().report().text(width: 40, colour: false)
    #expect(empty.split(separator: "\n").allSatisfy { $0.count <= 40 })
  }

  @Test(arguments: [0, 40, 41, 45, 52, 59, 60, 61, 80, 100, 200])
  func `fits into its width`(width: Int) throws {
    var report = try report()
    report.strongest[0].place = String(repeating: "far away from everything, ", count: 20)
    report.countsByType[String(repeating: "long ", count: 50)] = 1
    report.feeds[0].title = String(repeating: "title ", count: 50)
    report.feeds[0].url = String(repeating: "u", count: 300)
    let longest = report.text(width: width, colour: false).split(separator: "\n").map(\.count).max()
    #expect(longest == max(width, Report.minimumWidth))
  }

  @Test func `differs in colour by nothing but the colours`() throws {
    let plain = try report().text(width: 80, colour: false)
    let coloured = try report().text(width: 80, colour: true)
    #expect(!plain.contains("\u{1B}"))
    #expect(coloured.contains("\u{1B}[1mEarthquakes\u{1B}[0m"))
    #expect(coloured.replacing(/\u{1B}\[[0-9]+m/, with: "") == plain)
  }

  @Test func `lets no text of a feed control the terminal`() throws {
    var report = try report()
    report.strongest[0].place = "Here\u{1B}[2J\nand\u{7}there"
    let text = report.text(width: 80, colour: false)
    #expect(!text.contains("\u{1B}"))
    #expect(text.contains("Here�[2J and�there\n"))
  }

  @Test func `of an empty database says that it is empty`() throws {
    let text = try EarthquakeDatabase.inMemory().report().text(width: 80, colour: false)
    #expect(
      text == """
        Earthquakes
          The database holds no earthquakes yet. Import a feed first.

        """
    )
  }

  @Test func `says how many deleted events it doesn't count`() throws {
    let text = Report(count: 8, deletedCount: 1).text(width: 80, colour: false)
    #expect(text.contains("  8 events\n"))
    #expect(text.contains("\n  1 deleted event, not counted\n"))
    let empty = Report(deletedCount: 2).text(width: 80, colour: false)
    #expect(empty.hasSuffix("Import a feed first.\n  2 deleted events, not counted\n"))
  }

  @Test func `counts one event in the singular`() throws {
    let database = try EarthquakeDatabase.inMemory()
    try database.store(try Feed.parse(FeedText.feed([FeedText.feature(mag: "null")])))
    let text = try database.report().text(width: 80, colour: false)
    #expect(text.contains("  1 event\n"))
    #expect(text.contains("with 1 event\n"))
    #expect(text.contains("  no event of known magnitude\n"))
  }
}

extension String {
  fileprivate var indented: String { "  \(self)" }
}
