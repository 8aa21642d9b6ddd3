import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import Testing

/// What a reader of pictures needs room for, with fonts that the package doesn't choose.
@Suite(.watched) struct `A picture has room` {
  /// How wide letters of DejaVu Sans are, in hundredths of the size, regular and bold: no usual font
  /// has wider ones.
  static let widest: [Character: (regular: Double, bold: Double)] = [
    "a": (61, 67), "b": (63, 72), "c": (55, 59), "d": (63, 72), "e": (62, 68), "f": (35, 44),
    "g": (63, 72), "h": (63, 71), "i": (28, 34), "j": (28, 34), "k": (58, 67), "l": (28, 34),
    "m": (97, 104), "n": (63, 71), "o": (61, 69), "p": (63, 72), "q": (63, 72), "r": (41, 49),
    "s": (52, 60), "t": (39, 48), "u": (63, 71), "v": (59, 65), "w": (82, 92), "x": (59, 65),
    "y": (59, 65), "z": (52, 58), "M": (86, 100), "W": (99, 110), "O": (79, 85), "0": (64, 70),
    "1": (64, 70), "2": (64, 70), "3": (64, 70), "4": (64, 70), "5": (64, 70), "6": (64, 70),
    "7": (64, 70), "8": (64, 70), "9": (64, 70), " ": (32, 35), ".": (32, 38), "/": (34, 37),
    "-": (36, 42), "_": (50, 50), "+": (84, 84), "@": (100, 100), "…": (100, 100),
  ]

  static let names = [
    "short", "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
    "__________________________++++++++++++++++++++++++++++++@@@@@@@@@@@@@@@@@@@@@@@@",
    "llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll",
    "/var/lib/data/import_17/2026-11-22/reports_of_all_that_was_there/notable.geojson",
    "the import of the feed of everything that was ever seen there, and of some more.",
  ].map { $0.replacing(",", with: "") }

  /// A text of the column of names.
  private struct Label {
    let x: Double
    let isBold: Bool
    let text: String
    /// What a pointer over it shows.
    let title: String?

    var end: Double {
      x
        + text.reduce(0) { sum, letter in
          let widths = widest[letter] ?? (1_000, 1_000)
          return sum + (isBold ? widths.bold : widths.regular) / 100 * 12
        }
    }
  }

  private func picture(_ names: [String], depth: Int = 0) -> String {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let works = names.enumerated().map { world.taking($0 + 1, $1) }
    var operations: [Operation] = works
    for _ in 0..<depth {
      let inside = operations
      operations = [GroupOperation(name: names.last) { inside }]
    }
    world.queue.addOperations(operations)
    world.simulation.run()
    return recorder.timeline.svg()
  }

  /// The column, with how wide it is: what it clips.
  private func column(_ svg: String) throws -> (width: Double, labels: [Label]) {
    let begin = try #require(
      svg.firstMatch(of: /<svg width="([0-9.]+)" height="[0-9.]+" overflow="hidden">/)
    )
    let end = try #require(svg[begin.range.upperBound...].firstRange(of: "</svg>"))
    let inside = svg[begin.range.upperBound..<end.lowerBound]
    var labels: [Label] = []
    let text =
      /(?:<g><title>(.*)<\/title>\n)?<text x="([0-9.]+)" y="[0-9.]+"( font-weight="bold")?>(.*)<\/text>/
    for match in inside.matches(of: text) {
      let (_, title, x, bold, text) = match.output
      labels.append(
        Label(
          x: Double(x) ?? 0,
          isBold: bold != nil,
          text: String(text),
          title: title.map(String.init)
        )
      )
    }
    return (try #require(Double(begin.output.1)), labels)
  }

  @Test(arguments: [0, 1, 9])
  func `a picture has space for names of any width before the chart`(depth: Int) throws {
    let svg = picture(Self.names, depth: depth)
    let (width, labels) = try column(svg)
    #expect(labels.count == Self.names.count + depth)
    #expect(labels.contains { $0.isBold })
    for label in labels { #expect(label.end <= width, "\(label.text)") }
    // Bars begin behind the column: the first of all is that of what began at once.
    let bars = svg.matches(of: /<rect x="([0-9.]+)"[^>]* rx="2"/).compactMap { Double($0.output.1) }
    #expect(bars.count == labels.count)
    #expect(try #require(bars.min()) > width)
    #expect(width < 360)
  }

  @Test func `a picture shows both ends of a cut name and a tooltip`() throws {
    let (_, labels) = try column(picture(Self.names))
    for label in labels {
      guard label.text.contains("…") else {
        #expect(label.title == nil && Self.names.contains(label.text))
        continue
      }
      let name = try #require(label.title)
      #expect(Self.names.contains(name))
      let ends = label.text.split(separator: "…", omittingEmptySubsequences: false)
      #expect(ends.count == 2)
      #expect(name.hasPrefix(ends[0]) && name.hasSuffix(ends[1]))
      #expect(ends.allSatisfy { !$0.isEmpty })
    }
    #expect(labels.contains { $0.title != nil } && labels.contains { $0.title == nil })
  }

  @Test(arguments: ["", "…", "日本語の名前", "🧨👩‍👩‍👧‍👦", "e\u{301}", "\u{200F}אבג", "\u{1}\n<&>"])
  func `a picture has space for names in any script`(part: String) throws {
    for name in [part, String(repeating: part, count: 80)] {
      let (width, labels) = try column(picture([name]))
      #expect(labels.count <= 1 && width >= 90)
    }
  }

  @Test func `a picture keeps the readable part of a name of ten thousand letters`() throws {
    let svg = picture([String(repeating: "letter ", count: 1_500)])
    #expect(try column(svg).labels.allSatisfy { $0.text.count < 100 })
  }

  @Test func `a picture of two thousand operations isn't higher than viewers can draw`() throws {
    let svg = picture((1...2_000).map { "operation \($0)" })
    let size = try #require(
      svg.firstMatch(of: /width="([0-9.]+)" height="([0-9.]+)" viewBox="0 0 1080/)
    )
    #expect(try #require(Double(size.output.2)) < 32_767)
    #expect(try #require(Double(size.output.1)) > 600)
    // The scale of time stands above as well as below.
    #expect(svg.split(separator: ">0</text>").count == 3)
    #expect(svg.split(separator: "\n").count { $0.hasPrefix("<text x=\"12\" ") } == 2_000)
  }

  @Test func `a picture draws a name of several lines on one line`() throws {
    // Some readers draw nothing for a line break in a text.
    let (_, labels) = try column(picture(["two\nlines", "and\r\n  two"]))
    #expect(labels.map(\.text) == ["two lines", "and two"])
  }

  @Test func `a picture shows the outcome of an operation that took almost no time`() throws {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    world.queue.addOperations([world.taking(1_000, "long"), Work("tiny"), Work.failing("failing")])
    world.simulation.run()
    let bars = recorder.timeline.svg().matches(
      of: /width="([0-9.]+)" height="14" fill="([^"]+)" stroke="[^"]+" stroke-width="([0-9.]+)"/
    )
    #expect(bars.map { String($0.output.2) } == ["#b7e0b0", "#f4a9a0"])
    for bar in bars {
      let (width, frame) = (try #require(Double(bar.output.1)), Double(bar.output.3))
      #expect(width - (try #require(frame)) >= 2)
    }
  }

  @Test(arguments: [
    (10, 1), (11, 2), (40, 5), (105, 20), (365, 50), (3_650, 500), (30_000, 5_000),
  ])
  func `a picture of many days has round numbers on its scale`(days: Int, step: Int) throws {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    world.run(world.taking(86_400 * days, "long"))
    let ticks = recorder.timeline.svg().matches(of: /text-anchor="middle">(\d+) d</)
    #expect(
      ticks.compactMap { Int($0.output.1) } == Array(stride(from: step, through: days, by: step))
    )
  }

  @Test func `a picture of nothing has no scale`() {
    let svg = TimelineRecorder().timeline.svg()
    #expect(svg.contains(">0 operations</text>"))
    #expect(svg.split(separator: "<text").count == 2)
  }

  // MARK: Graphs

  @Test(arguments: names + ["", "a b", String(repeating: "\n", count: 100), "日本語の名前"])
  func `a graph folds long names into short lines`(name: String) {
    let graph = OperationGraph(of: [Work(name)])
    let lines = FoldedName.lines(of: name)
    #expect((1...3).contains(lines.count))
    for line in lines { #expect(line.count <= 28) }
    let compact = { (text: String) in text.filter { !$0.isWhitespace } }
    if !lines.joined().contains("…") {
      #expect(compact(lines.joined()) == compact(name))
    } else {
      let ends = lines.joined(separator: " ").split(separator: "…")
      #expect(compact(name).hasPrefix(compact(String(ends[0]))))
      #expect(compact(name).hasSuffix(compact(String(ends[1]))))
    }
    // Cut or folded, it is whole under a pointer.
    let isFolded = lines.count > 1
    #expect(graph.dot().contains("tooltip=\"\(OperationGraph.quoted(name))\"") == isFolded)
    #expect(graph.mermaid().contains(lines.map(OperationGraph.entities).joined(separator: "<br/>")))
  }

  @Test func `a graph folds wide characters into lines of half as many`() {
    let name = "日本語の名前がここにありますとても長い名前なので折り返されるはずです日本語の名前"
    let lines = FoldedName.lines(of: name)
    #expect(lines.joined() == name)
    #expect(lines.map(\.count) == [14, 14, 12])
    let longer = FoldedName.lines(of: name + name)
    #expect(longer.count == 3)
    for line in longer { #expect(line.count <= 14) }
    #expect(longer.joined().contains("…") && longer[2].hasSuffix("日本語の名前"))
    for line in FoldedName.lines(of: String(repeating: "🧨", count: 80)) {
      #expect(line.count <= 14)
    }
  }

  @Test func `a graph folds a name with many line breaks`() {
    let lines = String(repeating: "line\n", count: 10)
    #expect(
      FoldedName.lines(of: lines) == ["line line line line line", "line line line line line"]
    )
    #expect(FoldedName.lines(of: String(repeating: "\n", count: 100)) == [""])
  }

  @Test func `a graph folds names between words if there are any`() {
    let lines = FoldedName.lines(of: "the import of the feed of everything that was ever seen")
    #expect(lines == ["the import of the feed of", "everything that was ever", "seen"])
    #expect(FoldedName.lines(of: "reports/2026-11-22/notable-earthquakes.geojson").count == 2)
  }
}
