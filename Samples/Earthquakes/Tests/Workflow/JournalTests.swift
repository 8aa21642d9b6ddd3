import AdvancedOperations
import AdvancedOperationsTesting
import EarthquakeKit
import EarthquakeWorkflow
import Foundation
import Testing

@Suite struct `The journal` {
  private func journal(_ world: ImportWorld, _ request: ImportRequest) -> Journal {
    let journal = Journal()
    let simulation = world.simulation
    world.run(request) { url, _, _ in
      if simulation.now < .seconds(3) { throw DownloadError.status(url: url, code: 503) }
      return TinyFeed.data
    } prepare: { workflow in
      for step in workflow.steps { step.addObserver(journal) }
    }
    return journal
  }

  @Test func `lists each operation with its times and its outcome`() throws {
    let world = try ImportWorld()
    let text = journal(world, world.request(feed: "all_day")).text(width: 80)
    #expect(
      text == """
          operation   enqueued    started   finished  outcome
          locate       0.000 s    0.000 s    0.000 s  succeeded
          download     0.000 s    0.000 s    3.000 s  succeeded
          validate     0.000 s    3.000 s    3.000 s  succeeded
          parse        0.000 s    3.000 s    3.000 s  succeeded
          store        0.000 s    3.000 s    3.000 s  succeeded
          report       0.000 s    3.000 s    3.000 s  succeeded

        """
    )
  }

  @Test func `tells failed, not run and skipped apart`() throws {
    let world = try ImportWorld()
    let missing = ImportRequest(source: .file(path: world.path("none")), database: world.database)
    let lines = journal(world, missing).text(width: 120).split(separator: "\n").map { String($0) }
    #expect(lines[2] == "  open         0.000 s          -    0.000 s  failed")
    #expect(lines[3].hasSuffix("  not run"))
    #expect(lines[5].hasSuffix("  not run"))
    #expect(lines[6].hasSuffix("  skipped: the database holds nothing"))
  }

  @Test func `keeps to the width`() throws {
    let world = try ImportWorld()
    try world.store(TinyFeed.data)
    let lines = journal(world, try world.request(TinyFeed.data)).text(width: 70).split(
      separator: "\n"
    )
    #expect(lines.map(\.count).max() == 70)
    #expect(lines[5].hasSuffix("  skipped: nothing new: t…"))
  }

  @Test func `counts from its first event`() throws {
    let world = try ImportWorld()
    let request = try world.request(TinyFeed.data)
    world.simulation.advance(by: .seconds(500))
    let entries = journal(world, request).entries
    #expect(entries.map(\.enqueued) == Array(repeating: .zero, count: 6))
    #expect(entries.compactMap(\.outcome?.isSuccess) == Array(repeating: true, count: 6))
  }
}
