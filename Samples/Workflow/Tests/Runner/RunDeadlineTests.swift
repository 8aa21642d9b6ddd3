import AdvancedOperationsTesting
import Testing
import WorkflowDocument

@testable import WorkflowRunner

@Suite struct RunDeadlineTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func undone(_ id: String, needs: [String] = []) -> Step {
    Step(id, needs: needs) { $0.rollback = .shell(Template(text: "undo")) }
  }

  private let chain = Workflow([
    Self.undone("a"), Self.undone("b", needs: ["a"]), Step("c", needs: ["b"]),
  ])

  private func run(
    _ workflow: Workflow,
    in place: RunFolder? = nil,
    seed: UInt64 = 1,
    plays: [String: [ScriptedEngine.Play]] = [:],
    until deadline: RunDeadline?
  ) throws -> SimulatedRun {
    SimulatedRun(workflow, in: try place ?? folder.run(), seed: seed, plays: plays) {
      $0.deadline = deadline
    }
  }

  private let tenSeconds = RunDeadline(after: .seconds(10), timeOfDay: "06:30")

  @Test func `A run is cancelled at its deadline, and undoes what succeeded`() throws {
    let plays = ["b": [ScriptedEngine.Play.endless(ending: .seconds(2))]]
    for seed in 1...20 as ClosedRange<UInt64> {
      let run = try run(chain, seed: seed, plays: plays, until: tenSeconds)
      let end = try run.end()
      #expect((end.succeeded, end.failed, end.cancelled, end.undone) == (0, 0, 2, 1))
      #expect(
        run.engine.log == ["0 ms a", "1 s a.", "1 s b", "12 s b!", "12 s undo-a", "13 s undo-a."]
      )
      #expect(run.events.words.count { $0.hasPrefix("cancelling") } == 1)
      #expect(run.events.words.contains("cancelling the run's time was over at 06:30"))
      #expect(run.events.ends["b"]?.reason == "cancelled: the run's time was over at 06:30")
      #expect(run.events.ends["c"]?.reason == "not run: the run's time was over at 06:30")
    }
  }

  @Test func `The cancel is reported before the ends of the steps`() throws {
    let run = try run(chain, plays: ["a": [.endless()]], until: tenSeconds)
    try run.end()
    let words = run.events.words
    let cancel = try #require(words.firstIndex { $0.hasPrefix("cancelling") })
    let end = try #require(words.firstIndex { $0 == "a cancelled" })
    #expect(cancel < end)
  }

  @Test func `The reason has the duration if the deadline was a duration`() throws {
    let run = try run(
      Workflow([Step("a")]),
      plays: ["a": [.endless()]],
      until: RunDeadline(after: .seconds(5_400))
    )
    let end = try run.end()
    #expect(end.duration == .seconds(5_400))
    #expect(
      run.events.ends["a"]?.reason == "cancelled: the run's time was over after 1 h 30 min"
    )
  }

  @Test func `A run that ends before its deadline doesn't notice it`() throws {
    let run = try run(chain, until: tenSeconds)
    let end = try run.end()
    #expect(end.succeeded == 3 && end.duration == .seconds(3))
    #expect(!run.events.words.contains { $0.hasPrefix("cancelling") })
  }

  @Test func `A resumed run finishes the steps, and has its own deadline`() throws {
    let place = try folder.run()
    let steps = Workflow([Step("a"), Step("b", needs: ["a"]), Step("c", needs: ["b"])])
    let first = try run(steps, in: place, plays: ["b": [.endless()]], until: tenSeconds)
    let end = try first.end()
    #expect((end.succeeded, end.cancelled) == (1, 2))

    let second = try run(steps, in: place, plays: ["c": [.endless()]], until: tenSeconds)
    let next = try second.end()
    #expect((next.succeeded, next.cancelled, next.duration) == (2, 1, .seconds(10)))
    #expect(second.engine.begins == ["b", "c"])

    #expect(try run(steps, in: place, until: nil).end().succeeded == 3)
  }

  @Test func `A retry that can't begin before the deadline isn't waited for`() throws {
    var step = Step("a")
    step.retry = RetryRule(attempts: 5)
    step.retry?.delay = .seconds(4)
    let run = try run(Workflow([step]), plays: ["a": [.exit(1)]], until: tenSeconds)
    let end = try run.end()
    // The attempts begin after 0 s and 5 s, and the third would after 10 s.
    #expect((end.failed, end.duration) == (1, .seconds(6)))
    #expect(
      run.events.ends["a"]?.reason
        == "exited with 1 (after 2 attempts); the next attempt would begin after the run's time was "
        + "over"
    )
  }

  @Test func `The last attempt of a rule fails for its own reason only`() throws {
    var step = Step("a")
    step.retry = RetryRule(attempts: 2)
    let run = try run(Workflow([step]), plays: ["a": [.exit(1)]], until: tenSeconds)
    try run.end()
    #expect(run.events.ends["a"]?.reason == "exited with 1 (after 2 attempts)")
  }

  @Test func `A rollback that is running at the deadline isn't cut off`() throws {
    let run = try run(
      chain,
      plays: ["b": [.exit(1)], "undo-a": [.exit(0, after: .seconds(20))]],
      until: tenSeconds
    )
    let end = try run.end()
    #expect((end.failed, end.undone, end.duration) == (1, 1, .seconds(22)))
    #expect(run.engine.log.last == "22 s undo-a.")
  }
}
