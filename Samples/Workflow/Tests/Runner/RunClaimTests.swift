import Testing
import WorkflowDocument

@testable import WorkflowRunner

/// What steps hold while they run.
@Suite struct RunClaimTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func `No more steps run at a time than there are jobs`() throws {
    let steps = (0..<10).map { Step("s\($0)") }
    let run = SimulatedRun(Workflow(steps), in: try folder.run(), jobs: 3)
    #expect(try run.end().duration == .seconds(4))
    #expect(run.engine.most == 3)
  }

  @Test func `Exclusive steps run one at a time, and other steps at the same time`() throws {
    let steps = (0..<3).map { Step("s\($0)") { $0.exclusive = ["database"] } }
    let run = SimulatedRun(Workflow(steps + [Step("other")]), in: try folder.run())
    #expect(try run.end().duration == .seconds(3))
    #expect(run.engine.most == 2)
  }

  @Test func `Steps don't hold more of a resource than there is`() throws {
    let steps = (0..<4).map { Step("s\($0)") { $0.uses = ["cpu": ResourceAmount(2)] } }
    let run = SimulatedRun(
      Workflow(steps, resources: ["cpu": ResourceAmount(4)]),
      in: try folder.run(),
      jobs: 10
    )
    #expect(try run.end().duration == .seconds(2))
    #expect(run.engine.most == 2)
  }

  @Test func `A step that needs more than there is fails, and says so`() throws {
    let step = Step("a") { $0.uses = ["memory": ResourceAmount(5)] }
    let run = SimulatedRun(
      Workflow([step], resources: ["memory": ResourceAmount(4)]),
      in: try folder.run()
    )
    #expect(try run.end().failures == "a: ‘memory’: 5 units are needed, and there are 4 in all")
  }

  @Test func `A resource that the workflow doesn't have keeps the run from beginning`() throws {
    let step = Step("a") { $0.uses = ["gpu": ResourceAmount(1)] }
    let run = SimulatedRun(Workflow([step]), in: try folder.run())
    #expect(throws: RunError.noResource(name: "gpu", step: "a")) { try run.end() }
  }

  @Test func `Steps start no more often than their rate allows`() throws {
    let rate = Rate(key: "registry", count: 2, per: .seconds(60))
    let steps = (0..<4).map { Step("s\($0)") { $0.rates = [rate] } }
    let run = SimulatedRun(Workflow(steps), in: try folder.run(), jobs: 10)
    try run.end()
    let begins = run.engine.log.filter { !$0.hasSuffix(".") }
    #expect(begins.filter { $0.hasPrefix("0 ms") }.count == 2)
    #expect(begins.filter { $0.hasPrefix("30 s") }.count == 1)
    #expect(begins.filter { $0.hasPrefix("1 min ") }.count == 1)
  }

  @Test func `The waits of the next steps are reported once`() throws {
    let steps = (0..<100).map { number in
      Step("s\(number)") { $0.exclusive = ["database"] }
    }
    let run = SimulatedRun(Workflow(steps), in: try folder.run(), jobs: 1_000)
    let end = try run.end()
    #expect(end.succeeded == 100)
    let waits = run.events.all.prefix { $0.time < .milliseconds(999) }.filter { event in
      if case .waiting = event.kind { true } else { false }
    }
    #expect(!waits.isEmpty && waits.count <= 16)
  }

  @Test func `A step that starts immediately waits for nothing`() throws {
    let step = Step("a") { $0.exclusive = ["database"] }
    let run = SimulatedRun(Workflow([step]), in: try folder.run())
    try run.end()
    #expect(run.events.words == ["a started 1", "a succeeded"])
  }
}
