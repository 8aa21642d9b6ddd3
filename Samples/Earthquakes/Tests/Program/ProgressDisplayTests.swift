import AdvancedOperations
import AdvancedOperationsTesting
import EarthquakeKit
import EarthquakeWorkflow
import Synchronization
import TerminalSupport
import Testing

@testable import earthquakes

@Suite struct `The progress display` {
  private static let erase = "\r\u{1B}[K"

  /// What the display wrote while a workflow ran.
  private func output(
    _ style: ProgressDisplay.Style,
    then finish: (ProgressDisplay) -> Void = { _ in }
  ) throws -> [String] {
    let world = try ImportWorld()
    let written = Written()
    let display = ProgressDisplay(style: style, width: { 40 }, write: { written.append($0.text) })
    world.run(try world.request(TinyFeed.data), prepare: { display.observe($0.steps) })
    finish(display)
    return written.texts
  }

  @Test func `writes a line for each step where lines can't be written over`() throws {
    #expect(
      try output(.lines) { $0.end() } == [
        "1/6 locate\n", "2/6 open\n", "3/6 validate\n", "4/6 parse\n", "5/6 store\n",
        "6/6 report\n", "",
      ]
    )
  }

  @Test func `the display writes nothing with --quiet`() throws {
    #expect(try output(.quiet) { $0.say("Notice.") }.isEmpty)
  }

  @Test func `writes over its line, and takes it away at the end`() throws {
    let texts = try output(.live) { $0.end() }
    #expect(texts.first?.hasPrefix("\r") == false)
    #expect(texts.dropFirst().allSatisfy { $0.hasPrefix(Self.erase) })
    #expect(texts.last == Self.erase)
    #expect(texts.allSatisfy { !$0.contains("\n") })
    #expect(texts.contains { $0.hasSuffix(" 75 % store") })
  }

  @Test func `the display says why and when a download is retried`() throws {
    let world = try ImportWorld()
    let simulation = world.simulation
    let written = Written()
    let display = ProgressDisplay(style: .lines, width: { 40 }, write: { written.append($0.text) })
    world.run(world.request(feed: "all_day")) { url, _, _ in
      if simulation.now < .seconds(1) { throw DownloadError.status(url: url, code: 503) }
      return TinyFeed.data
    } prepare: { workflow in
      display.observe(workflow.steps)
    }
    let notices = written.texts.filter { $0.contains("is retried in") }
    let beginning = "“download” failed and is retried in 1.0 seconds: The server did not send "
    #expect(notices.count == 1)
    #expect(notices.first?.hasPrefix(beginning) == true)
  }

  @Test func `never writes the same line twice in a row`() throws {
    let texts = try output(.live)
    #expect(zip(texts, texts.dropFirst()).allSatisfy { $0 != $1 })
  }

  @Test func `puts a notice above its line`() throws {
    let texts = try output(.live) { display in
      display.say("Notice.")
      display.end()
      display.say("Another.")
    }
    let line = try #require(texts.dropLast(3).last?.dropFirst(Self.erase.count))
    #expect(texts.suffix(3) == ["\(Self.erase)Notice.\n\(line)", Self.erase, "Another.\n"])
  }
}

/// Keeps what is written.
private final class Written: Sendable {
  private let list = Mutex<[String]>([])

  var texts: [String] { list.withLock { $0 } }

  @Sendable func append(_ text: String) { list.withLock { $0.append(text) } }
}
