import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import Foundation
import Testing

#if canImport(FoundationXML)
import FoundationXML
#endif

/// What the formats are read with: other people's parsers.
@Suite(.watched) struct `A timeline in a file` {
  /// A workflow with everything in it, on four slots.
  private func timeline(seed: UInt64 = 1) -> OperationTimeline {
    let world = World(seed: seed, limit: 3)
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let download = world.taking(3, "download \"feed\" & <more>")
    let parse = world.taking(2, "parse\u{1}\n\\")
    parse.addDependency(download)
    parse.addCondition(world.askedFor(1))
    let tables = (1...5).map { world.taking($0, "table \($0)") }
    let store = GroupOperation(name: "store", maxConcurrentOperationCount: 2) { tables }
    store.addDependency(parse)
    let failing = Work.failing("failing")
    let skipped = Work("skipped")
    skipped.addCondition(Immediate(always: .skipped(reason: "nothing new")))
    let cancelled = world.taking(50, "cancelled")
    let report = world.taking(1, "a report with a name that is longer than anybody wants to read")
    report.addDependency(store)
    let waiting = world.taking(4, "waiting")
    world.queue.addOperations([
      download, parse, store, failing, skipped, cancelled, report, waiting,
    ])
    world.simulation.advance(by: .seconds(7))
    cancelled.cancel()
    world.simulation.run()
    return recorder.timeline
  }

  @Test func `a timeline shows changed spans and is otherwise the same`() throws {
    let timeline = timeline()
    var other = timeline
    for index in other.spans.indices { other.spans[index].name += " on n1" }
    #expect(other.svg().contains(">failing on n1<"))
    #expect(other.duration == timeline.duration)
    #expect(other.criticalPath == timeline.criticalPath)
    for index in other.spans.indices { other.spans[index].name.removeLast(6) }
    #expect(other.svg() == timeline.svg())
  }

  @Test func `a timeline shows an operation's error and the claims it waited for`() throws {
    struct Refused: Error, CustomStringConvertible {
      let description = "The server said: <no>" + String(repeating: ".", count: 300)
    }
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let backup = world.taking(3, "backup")
    backup.addClaim(MutuallyExclusive("database"))
    world.queue.addOperation(backup)
    world.simulation.advance(by: .zero)
    let download = ResultOperation(name: "download") { throw Refused() }
    let parse = download.then(name: "parse") {}
    let slow = world.taking(50, "slow")
    slow.addObserver(TimeoutObserver(.seconds(5)))
    let skipped = Work("skipped")
    skipped.addCondition(Immediate(always: .skipped(reason: "nothing new")))
    let gone = world.taking(50, "gone")
    let store = world.taking(1, "store")
    store.addClaim(MutuallyExclusive("database"))
    world.queue.addOperations([download, parse, slow, skipped, gone, store])
    world.simulation.advance(by: .seconds(1))
    gone.cancel()
    world.simulation.run()

    let svg = recorder.timeline.svg()
    #expect(svg.contains("download: failed\nThe server said: &lt;no&gt;..."))
    #expect(!svg.contains(String(repeating: ".", count: 160)))
    #expect(svg.contains("parse: failed\nbecause of dependency “download”</title>"))
    #expect(svg.contains("slow: cancelled\ntimed out: The time limit of 5 s was exceeded.\n"))
    #expect(svg.contains("skipped: skipped\nnothing new"))
    #expect(svg.contains("gone: cancelled\nexecuted for 1 s"))
    #expect(svg.contains("waited for “database” or a slot for 3 s"))
  }

  // MARK: Chrome

  private struct Trace: Decodable {
    struct Event: Decodable {
      let ph: String
      let pid: Int
      let tid: Int?
      let ts: Double?
      let dur: Double?
      let name: String
      let cat: String?
      let id: Int?
    }
    let traceEvents: [Event]
  }

  private func read(_ timeline: OperationTimeline) throws -> [Trace.Event] {
    try JSONDecoder().decode(Trace.self, from: Data(timeline.chromeTrace().utf8)).traceEvents
  }

  @Test(arguments: seeds) func `the Chrome trace has a slice for each execution without overlaps`(
    seed: UInt64
  ) throws {
    let timeline = timeline(seed: seed)
    let slices = try read(timeline).filter { $0.ph == "X" }
    #expect(
      slices.map(\.name).sorted()
        == timeline.spans.filter { $0.started != nil }.map(\.name).sorted()
    )
    for lane in Dictionary(grouping: slices, by: { [$0.pid, $0.tid ?? 0] }).values {
      let ordered = lane.sorted { ($0.ts ?? 0) < ($1.ts ?? 0) }
      for (before, after) in zip(ordered, ordered.dropFirst()) {
        let end = try #require(before.ts) + #require(before.dur)
        #expect(try end <= #require(after.ts) + 0.0005)
      }
    }
    // No more lanes than slots.
    #expect(Set(slices.filter { $0.pid == 1 }.map(\.tid)).count <= 5)
    let download = try #require(slices.first { $0.name.hasPrefix("download") })
    #expect(download.dur == 3_000_000)
  }

  @Test func `the Chrome trace has pairs of wait events and of arrows`() throws {
    let events = try read(timeline())
    #expect(events.allSatisfy { $0.ph == "M" || ($0.ts ?? -1) >= 0 })
    #expect(Set(events.map(\.ph)) == ["M", "X", "b", "e", "s", "f", "i"])
    for (begin, end) in [("b", "e"), ("s", "f")] {
      let open = events.filter { $0.ph == begin }
      let close = events.filter { $0.ph == end }
      #expect(open.map(\.id) == close.map(\.id))
      for (open, close) in zip(open, close) { #expect(open.ts ?? 0 <= close.ts ?? 0) }
    }
    let waits = Set(events.filter { $0.ph == "b" }.compactMap(\.cat))
    #expect(waits == ["dependencies", "conditions", "turn"])
    // download → parse → store → report
    #expect(events.filter { $0.ph == "s" }.count == 3)
  }

  @Test(arguments: ["", "\"", "\\", "\u{0}\u{1f}\u{7f}", "\r\n\t", "日本 🧨", "\u{2028}"])
  func `the Chrome trace has every name unchanged`(name: String) throws {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    world.run(Work(name))
    #expect(try read(recorder.timeline).contains { $0.ph == "X" && $0.name == name })
  }

  @Test func `a timeline of nothing can be read`() throws {
    let nothing = TimelineRecorder().timeline
    #expect(try read(nothing).isEmpty)
    #expect(try texts(in: nothing.svg()).contains { $0.hasPrefix("0 operations") })
  }

  // MARK: SVG

  /// Collects texts and coordinates of a picture.
  private final class Reader: NSObject, XMLParserDelegate {
    var texts: [String] = []
    var places: [(x: Double, y: Double, width: Double)] = []
    private var text: String?

    func parser(
      _ parser: XMLParser,
      didStartElement name: String,
      namespaceURI: String?,
      qualifiedName: String?,
      attributes: [String: String]
    ) {
      if name == "text" { text = "" }
      if let x = attributes["x"].flatMap(Double.init), let y = attributes["y"].flatMap(Double.init)
      {
        places.append((x, y, attributes["width"].flatMap(Double.init) ?? 0))
      }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { text? += string }

    func parser(
      _ parser: XMLParser,
      didEndElement name: String,
      namespaceURI: String?,
      qualifiedName: String?
    ) {
      guard name == "text", let text else { return }
      texts.append(text)
      self.text = nil
    }
  }

  private func read(_ svg: String) throws -> Reader {
    let reader = Reader()
    let parser = XMLParser(data: Data(svg.utf8))
    parser.delegate = reader
    #expect(parser.parse(), "\(parser.parserError.map { "\($0)" } ?? "")")
    return reader
  }

  private func texts(in svg: String) throws -> [String] { try read(svg).texts }

  @Test func `a timeline's picture has a row for each operation and the totals`() throws {
    let timeline = timeline()
    let texts = try texts(in: timeline.svg())
    for name in ["download \"feed\" & <more>", "table 1", "table 5", "failing", "skipped"] {
      #expect(texts.contains(name))
    }
    let work = timeline.plan.work.readable
    #expect(texts.contains { $0.hasPrefix("13 operations in ") && $0.contains("work \(work)") })
    #expect(!timeline.svg().contains("\u{1}"))
    #expect(!timeline.svg().contains("<script") && !timeline.svg().contains("href"))
  }

  @Test(arguments: seeds) func `a timeline's picture is inside of its frame`(seed: UInt64) throws {
    let timeline = timeline(seed: seed)
    let reader = try read(timeline.svg())
    let size = try #require(timeline.svg().firstMatch(of: /viewBox="0 0 1080 ([0-9.]+)"/))
    let height = try #require(Double(size.output.1))
    #expect(height <= 76 + 18 + 20 * Double(timeline.spans.count) + 28)
    for place in reader.places {
      #expect(place.x >= 0 && place.x + place.width <= 1080)
      #expect(place.y >= 0 && place.y <= height)
    }
  }

  @Test(arguments: [0, 1, 999, 12_345, 1_000_000_000, 59_000_000_000, 86_400_000_000_000 * 40])
  func `a timeline's picture has few ticks whatever the duration`(nanoseconds: Int64) throws {
    let world = World()
    let clock = world.simulation.environment.clock
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let work = ResultOperation { try await clock.sleep(until: .nanoseconds(nanoseconds)) }
    world.run(work)
    let lines = recorder.timeline.svg().components(separatedBy: "#e4e4e4").count - 1
    #expect((nanoseconds == 0 ? 1...1 : 2...12).contains(lines))
  }
}
