import Testing
import WorkflowDocument

@testable import WorkflowRunner

/// What a failure does to the steps around it.
@Suite struct RunFailureTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private let workflow = Workflow([
    Step("a"), Step("b", needs: ["a"]), Step("long"), Step("other", needs: ["long"]),
  ])

  @Test func `After a failure no step begins, and what runs is finished`() throws {
    let run = SimulatedRun(
      workflow,
      in: try folder.run(),
      plays: ["a": [.exit(1)], "long": [.exit(0, after: .seconds(5))]]
    )
    let end = try run.end()
    #expect(run.engine.log.sortedBegin(2) == ["0 ms a", "0 ms long", "1 s a.", "5 s long."])
    #expect((end.succeeded, end.failed, end.cancelled) == (1, 1, 2))
    #expect(run.events.ends["other"]?.reason == "not run, because ‘a’ failed")
  }

  @Test func `With keep-going, what doesn't need the failed step runs`() throws {
    let run = SimulatedRun(workflow, in: try folder.run(), plays: ["a": [.exit(1)]]) {
      $0.keepsGoing = true
    }
    let end = try run.end()
    #expect((end.succeeded, end.failed, end.cancelled) == (2, 1, 1))
    #expect(run.events.ends["b"]?.outcome == .cancelled)
  }

  @Test func `The end of a failed step comes before those of what doesn't run because of it`()
    throws
  {
    for seed in 1...20 as ClosedRange<UInt64> {
      let run = SimulatedRun(workflow, in: try folder.run(), seed: seed, plays: ["a": [.exit(1)]])
      try run.end()
      let ends = run.events.words.filter { !$0.contains("started") }
      let place = ends.firstIndex(of: "a failed")
      #expect(ends.firstIndex(of: "b cancelled").map { $0 > place ?? .max } == true, "\(seed)")
    }
  }

  @Test func `Steps about outcomes run after a failure, and needs only order them`()
    throws
  {
    var report = Step("report", needs: ["a"])
    report.when = [.outcome(.step("a", is: .failed))]
    var thanks = Step("thanks", needs: ["a"])
    thanks.when = [.outcome(.step("a", is: .succeeded))]
    let run = SimulatedRun(
      Workflow([Step("a"), report, thanks]),
      in: try folder.run(),
      plays: ["a": [.exit(1)]]
    )
    let end = try run.end()
    #expect(run.engine.begins == ["a", "report"])
    #expect((end.succeeded, end.failed, end.skipped) == (1, 1, 1))
    #expect(run.events.ends["thanks"]?.reason == "the outcomes are different: ‘a’ failed")
  }

  @Test func `A skipped step counts as done for those that need it`() throws {
    var skipped = Step("skipped")
    skipped.when = [.exists([Template(text: "/no/such/file")])]
    let run = SimulatedRun(
      Workflow([skipped, Step("next", needs: ["skipped"])]),
      in: try folder.run()
    )
    let end = try run.end()
    #expect((end.succeeded, end.skipped) == (1, 1))
    #expect(run.events.ends["skipped"]?.reason == "there is no file /no/such/file")
  }

  @Test func `A step fails without its requirement, and isn't evaluated when it is skipped`() throws
  {
    var step = Step("a")
    step.require = [.exists([Template(text: "/no/such/file")])]
    var first = SimulatedRun(Workflow([step]), in: try folder.run())
    #expect(try first.end().failed == 1)
    #expect(first.events.ends["a"]?.reason == "‘exists’: there is no file /no/such/file")
    #expect(first.engine.log.isEmpty)
    step.when = [.environment(name: "NOT_SET", value: nil)]
    first = SimulatedRun(Workflow([step]), in: try folder.run())
    #expect(try first.end().skipped == 1)
  }

  @Test func `Only the named steps run, with what they need; a base means all combinations`() throws
  {
    var (one, two) = (Step("t@1", needs: ["a"]), Step("t@2", needs: ["a"]))
    (one.base, two.base) = ("t", "t")
    let workflow = Workflow([Step("a"), one, two, Step("b", needs: ["a"])])
    let run = SimulatedRun(workflow, in: try folder.run()) { $0.only = ["t"] }
    #expect(try run.end().succeeded == 3)
    #expect(Set(run.engine.begins) == ["a", "t@1", "t@2"])
    let wrong = SimulatedRun(workflow, in: try folder.run()) { $0.only = ["x"] }
    #expect(throws: RunError.noStep("x")) { try wrong.end() }
  }

  @Test func `A step that can't be started fails with the reason of its engine`() throws {
    let run = SimulatedRun(
      Workflow([Step("a")]),
      in: try folder.run(),
      plays: ["a": [.fails("there is no such program.")]]
    )
    #expect(try run.end().failures == "a: there is no such program")
  }

  @Test func `A value that an earlier step didn't give fails the step, without an attempt`() throws
  {
    let step = Step(
      id: "b",
      command: .shell(Template([.output(step: "a", name: "version")]))
    )
    var needing = step
    needing.needs = ["a"]
    let run = SimulatedRun(Workflow([Step("a"), needing]), in: try folder.run())
    #expect(try run.end().failed == 1)
    #expect(run.engine.begins == ["a"])
    #expect(run.events.ends["b"]?.reason == "the step ‘a’ gave no output ‘version’")
  }

  @Test func `A declared output that isn't written fails the attempt, and so does another one`()
    throws
  {
    var step = Step("a")
    step.outputs = ["version"]
    let run = SimulatedRun(
      Workflow([step]),
      in: try folder.run(),
      plays: ["a": [.exit(0, outputs: ["vresion": "1"])]]
    )
    #expect(try run.end().failures.contains("gives ‘vresion’, which is not among its ‘outputs’"))
    let other = SimulatedRun(Workflow([step]), in: try folder.run())
    #expect(try other.end().failures.contains("it did not write ‘version=…’"))
  }
}

extension [String] {
  /// The first few in order: what happens at the same time may come in any order.
  func sortedBegin(_ count: Int) -> [String] { prefix(count).sorted() + dropFirst(count) }
}
