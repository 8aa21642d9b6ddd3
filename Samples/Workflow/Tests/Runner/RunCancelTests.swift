import AdvancedOperationsTesting
import Synchronization
import Testing
import WorkflowDocument

@testable import WorkflowRunner

/// What becomes of a run that is asked to end, and what is undone.
@Suite struct RunCancelTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func undone(_ id: String, needs: [String] = []) -> Step {
    Step(id, needs: needs) { $0.rollback = .shell(Template(text: "undo")) }
  }

  private let chain = Workflow([
    Self.undone("a"), Self.undone("b", needs: ["a"]), Self.undone("c", needs: ["b"]),
  ])

  @Test func `A cancel before the run begins keeps all steps from running`() throws {
    let run = SimulatedRun(chain, in: try folder.run())
    run.run.cancel(because: "no time")
    let end = try run.end()
    #expect(end.cancelled == 3)
    #expect(run.engine.log.isEmpty)
    #expect(run.events.ends["a"]?.reason == "not run: no time")
  }

  @Test func `A cancel ends what runs, and undoes what succeeded, the last first`() throws {
    let run = SimulatedRun(
      chain,
      in: try folder.run(),
      plays: ["c": [.endless(ending: .seconds(2))]]
    )
    run.at(.seconds(10)) { run.run.cancel(because: "no time") }
    let end = try run.end()
    #expect((end.succeeded, end.cancelled, end.undone) == (0, 1, 2))
    #expect(
      run.engine.log == [
        "0 ms a", "1 s a.", "1 s b", "2 s b.", "2 s c", "12 s c!", "12 s undo-b", "13 s undo-b.",
        "13 s undo-a", "14 s undo-a.",
      ]
    )
    #expect(
      run.events.words.suffix(6) == [
        "cancelling no time", "c cancelled", "b rolling back", "b rolled back", "a rolling back",
        "a rolled back",
      ]
    )
    #expect(run.events.ends["c"]?.reason == "cancelled: no time")
  }

  /// The body of one begins between the decision to stop and the cancel of its operation.
  @Test func `A step that begins while the run is being stopped is cancelled`() throws {
    let workflow = Workflow([Step("a"), Step("b", needs: ["a"]), Step("c", needs: ["b"])])
    let run = SimulatedRun(workflow, in: try folder.run())
    let core = run.run.core
    run.at(.milliseconds(500)) {
      _ = core.state.withLock { $0.stops(.cancel(reason: "no time")) { _ in false } }
    }
    let end = try run.end()
    #expect((end.succeeded, end.failed, end.cancelled) == (1, 0, 2))
    #expect(run.engine.begins == ["a"])
    #expect(run.events.ends["b"]?.reason == "not run: no time")
  }

  @Test func `A failure undoes what succeeded`() throws {
    let run = SimulatedRun(chain, in: try folder.run(), plays: ["c": [.exit(1)]])
    try run.end()
    #expect(run.engine.begins == ["a", "b", "c", "undo-b", "undo-a"])
  }

  @Test func `Nothing is undone of a run that ends well`() throws {
    let run = SimulatedRun(chain, in: try folder.run())
    #expect(try run.end().succeeded == 3)
    #expect(run.engine.begins == ["a", "b", "c"])
  }

  @Test func `A failed rollback is reported, and the other rollbacks run`() throws {
    let run = SimulatedRun(
      chain,
      in: try folder.run(),
      plays: ["c": [.exit(1)], "undo-b": [.exit(7)]]
    )
    let end = try run.end()
    #expect(run.engine.begins.suffix(2) == ["undo-b", "undo-a"])
    #expect(end.failures == "c: exited with 1\nb: its rollback failed: exited with 7")
  }

  @Test func `A step that is being undone, was, or couldn't be, says so`() throws {
    let run = SimulatedRun(
      chain,
      in: try folder.run(),
      plays: ["c": [.exit(1)], "undo-b": [.exit(7)], "undo-a": [.exit(0, after: .seconds(10))]]
    )
    let texts = Mutex<[String?]>([])
    for time in [3.5, 5] {
      run.at(.seconds(time)) { texts.withLock { $0 += ["a", "b"].map { run.run.explain($0) } } }
    }
    try run.end()
    let end = "succeeded, after 1 s"
    #expect(
      texts.withLock { $0 } == [
        "a \(end)", "b \(end)\n  is being undone", "a \(end)\n  is being undone",
        "b \(end)\n  could not be undone: exited with 7",
      ]
    )
  }

  @Test func `A cancel while a retry is waited for ends the run`() throws {
    var step = Step("a")
    step.retry = RetryRule(attempts: 5)
    step.retry?.delay = .seconds(3_600)
    let run = SimulatedRun(Workflow([step]), in: try folder.run(), plays: ["a": [.exit(1)]])
    run.at(.seconds(60)) { run.run.cancel(because: "no time") }
    let end = try run.end()
    #expect(end.cancelled == 1 && end.duration == .seconds(60))
  }

  @Test func `A cancel while a step waits for a claim ends it`() throws {
    let steps = (0..<2).map { Step("s\($0)") { $0.exclusive = ["x"] } }
    let run = SimulatedRun(
      Workflow(steps),
      in: try folder.run(),
      plays: ["s0": [.endless()], "s1": [.endless()]]
    )
    run.at(.seconds(60)) { run.run.cancel(because: "no time") }
    #expect(try run.end().cancelled == 2)
    #expect(run.engine.begins.count == 1)
  }

  @Test func `A kill keeps what succeeded from being undone`() throws {
    let run = SimulatedRun(chain, in: try folder.run(), plays: ["c": [.endless()]])
    run.at(.seconds(10)) { run.run.kill() }
    let end = try run.end()
    #expect(run.engine.isKilled)
    #expect(run.engine.begins == ["a", "b", "c"])
    #expect(end.succeeded == 2)
  }

  @Test func `A cancel that comes at any moment leaves a run that can be resumed`() throws {
    for seed in 1...60 as ClosedRange<UInt64> {
      let place = try folder.run()
      let run = SimulatedRun(chain, in: place, seed: seed)
      run.simulation.addStep("cancel") { run.run.cancel(because: "no time") }
      let end = try run.end()
      #expect(end.succeeded + end.cancelled == 3, "seed \(seed)")
      let next = SimulatedRun(chain, in: place, seed: seed)
      #expect(try next.end().succeeded == 3, "seed \(seed)")
    }
  }
}
