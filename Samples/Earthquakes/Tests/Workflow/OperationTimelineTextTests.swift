import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import EarthquakeKit
import EarthquakeWorkflow
import Foundation
import Testing

@Suite struct `The list of operations` {
  private func timeline(_ world: ImportWorld, _ request: ImportRequest) -> OperationTimeline {
    let recorder = TimelineRecorder()
    let simulation = world.simulation
    world.run(request) { url, _, _ in
      if simulation.now < .seconds(3) { throw DownloadError.status(url: url, code: 503) }
      return TinyFeed.data
    } prepare: { workflow in
      for step in workflow.steps { step.addObserver(recorder) }
    }
    return recorder.timeline
  }

  @Test func `lists each operation with its times and its outcome`() throws {
    let world = try ImportWorld()
    let text = timeline(world, world.request(feed: "all_day")).text(width: 80)
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

  @Test func `a timeline distinguishes failed, not run and skipped operations`() throws {
    let world = try ImportWorld()
    let missing = ImportRequest(source: .file(path: world.path("none")), database: world.database)
    let lines = timeline(world, missing).text(width: 120).split(separator: "\n").map { String($0) }
    #expect(lines[2] == "  open         0.000 s          -    0.000 s  failed")
    #expect(lines[3].hasSuffix("  not run"))
    #expect(lines[5].hasSuffix("  not run"))
    #expect(lines[6].hasSuffix("  skipped: the database holds nothing"))
  }

  @Test func `keeps to the width`() throws {
    let world = try ImportWorld()
    try world.store(TinyFeed.data)
    let lines = timeline(world, try world.request(TinyFeed.data)).text(width: 70).split(
      separator: "\n"
    )
    #expect(lines.map(\.count).max() == 70)
    #expect(lines[5].hasSuffix("  skipped: nothing new: t…"))
  }

  @Test func `counts from its first event`() throws {
    let world = try ImportWorld()
    let request = try world.request(TinyFeed.data)
    world.simulation.advance(by: .seconds(500))
    let text = timeline(world, request).text(width: 80)
    #expect(text.contains("\n  locate       0.000 s    0.000 s    0.000 s  succeeded\n"))
  }
}
