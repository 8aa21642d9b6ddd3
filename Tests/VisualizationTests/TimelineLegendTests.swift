import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import Testing

/// The lines above the chart that say what its marks mean.
@Suite(.watched) struct `The legend of a timeline` {
  private static let all = [
    "waiting for dependencies", "evaluating conditions", "waiting for a slot or claim", "executing",
    "succeeded", "failed", "cancelled", "skipped", "ended without executing",
    "attempt failed, retried", "attempt failed, ended in the delay", "critical path", "slack",
  ]

  /// The entries that a picture has, in order, with where they stand.
  private func legend(_ svg: String) -> [(text: String, x: Double, y: Double)] {
    let text = /<text x="([0-9.]+)" y="([0-9.]+)"(?: font-weight="bold")? font-size="11">([^<]+)</
    return svg.matches(of: text).map { match in
      (String(match.output.3), Double(match.output.1) ?? 0, Double(match.output.2) ?? 0)
    }
  }

  private func picture(_ fill: (World) -> Void) -> String {
    let world = World(limit: 2)
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    fill(world)
    return recorder.timeline.svg()
  }

  @Test func `a legend has a mark for exactly the elements that occur`() {
    let one = picture { $0.run($0.taking(2, "one")) }
    #expect(legend(one).map(\.text) == ["succeeded", "critical path"])

    let failed = picture { world in
      let work = Work.failing("failing")
      let dependent = Work("dependent")
      dependent.addDependency(work)
      dependent.addCondition(.allSucceeded)
      world.run(work, dependent)
    }
    #expect(legend(failed).map(\.text) == ["failed", "ended without executing"])

    let slow = picture { world in
      let (long, short) = (world.taking(9, "long"), world.taking(2, "short"))
      let last = world.taking(1, "last")
      last.addDependency(long)
      last.addDependency(short)
      world.run(long, short, last)
    }
    #expect(
      legend(slow).map(\.text)
        == ["waiting for dependencies", "succeeded", "critical path", "slack"]
    )
    #expect(legend(picture { _ in }).isEmpty)
  }

  @Test func `a legend shows the line of a failed attempt`() {
    let svg = picture { world in
      world.run(world.flaky(failures: 1, .constant(.seconds(1)).attempts(3)))
    }
    let entries = legend(svg).map(\.text)
    #expect(entries == ["succeeded", "attempt failed, retried", "critical path"])
    #expect(svg.matches(of: /class="retry"/).count == 2, "one in the bar, one in the legend")
  }

  @Test func `a legend with all marks continues in a second line within the picture`() throws {
    let svg = picture { world in
      let first = world.flaky(failures: 1, .constant(.seconds(1)).attempts(3))
      let delayed = world.flaky(failures: 1, .constant(.seconds(100)).attempts(3))
      let asked = world.taking(2, "asked")
      asked.addCondition(world.askedFor(3))
      let skipped = Work("skipped")
      skipped.addCondition(Immediate(always: .skipped(reason: "no need")))
      let cancelled = world.taking(50, "cancelled")
      let last = world.taking(70, "last")
      last.addDependency(asked)
      world.queue.addOperation(delayed)
      world.queue.addOperations([first, asked, skipped, Work.failing("failing"), cancelled, last])
      world.queue.addOperations((1...3).map { world.taking($0, "\($0)") })
      world.simulation.advance(by: .seconds(20))
      delayed.cancel()
      cancelled.cancel()
      world.simulation.advance(by: .seconds(5))
    }
    let entries = legend(svg)
    #expect(entries.map(\.text) == Self.all)
    #expect(Set(entries.map(\.y)) == [48, 66])
    for entry in entries {
      let width = entry.text.reduce(0) { sum, letter in
        sum + (`A picture has room`.widest[letter]?.regular ?? 100) / 100 * 11
      }
      #expect(entry.x + width < 1080)
    }
    // The chart begins below it.
    let bars = svg.matches(of: /<rect x="[0-9.]+" y="([0-9.]+)"[^>]* height="14"/)
    let first = try #require(bars.compactMap { Double($0.output.1) }.min())
    #expect(first > 66 + 18)
  }
}
