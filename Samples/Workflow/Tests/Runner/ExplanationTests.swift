import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import Synchronization
import Testing
import WorkflowDocument

@testable import WorkflowRunner

/// What is said of steps while a run goes on, and afterwards.
@Suite struct ExplanationTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// What is said of some steps at a time of the run.
  private func explain(
    _ names: [String],
    at time: Duration,
    of run: SimulatedRun
  ) throws -> [String?] {
    let texts = Mutex<[String?]>([])
    run.at(time) {
      let all = names.map { run.run.explain($0) }
      texts.withLock { $0 = all }
    }
    try run.end()
    return texts.withLock { $0 }
  }

  @Test func `A step says what it waits for, down to what runs`() throws {
    let workflow = Workflow([
      Step("a"), Step("b", needs: ["a"]), Step("c", needs: ["b"]), Step("done"),
    ])
    let run = SimulatedRun(
      workflow,
      in: try folder.run(),
      plays: ["a": [.exit(0, after: .seconds(60))]]
    )
    let texts = try explain(["c", "a", "done", "x"], at: .seconds(12), of: run)
    #expect(texts[0] == "c waits for b\n  b waits for a\n  a has been running for 12 s")
    #expect(texts[1] == "a has been running for 12 s")
    #expect(texts[2] == "done succeeded, after 1 s")
    #expect(texts[3] == nil)
  }

  @Test func `A step says which claim it waits for, and which step has it`() throws {
    let steps = ["a", "b"].map { id in Step(id) { $0.exclusive = ["database"] } }
    let run = SimulatedRun(
      Workflow(steps),
      in: try folder.run(),
      plays: ["a": [.exit(0, after: .seconds(60))], "b": [.exit(0, after: .seconds(60))]]
    )
    let texts = try explain(["a", "b"], at: .seconds(12), of: run)
    let waiting = texts.compactMap { $0 }.first { $0.contains("waits") } ?? ""
    #expect(waiting.contains("waits for “database”, which "))
    #expect(run.events.words.contains { $0.contains("waits for “database”, which ") })
  }

  @Test func `A step says that other steps have the slots`() throws {
    let run = SimulatedRun(
      Workflow([Step("a"), Step("b")]),
      in: try folder.run(),
      plays: ["a": [.exit(0, after: .seconds(60))], "b": [.exit(0, after: .seconds(60))]],
      jobs: 1
    )
    let texts = try explain(["a", "b"], at: .seconds(12), of: run).compactMap { $0 }
    #expect(
      texts.contains {
        $0.hasPrefix("b waits for its turn: a runs") || $0.hasPrefix("a waits for its turn: b runs")
      }
    )
  }

  @Test func `A step says how it ended, and with what`() throws {
    var good = Step("good")
    good.outputs = ["version"]
    let run = SimulatedRun(
      Workflow([good, Step("bad"), Step("after", needs: ["bad"])]),
      in: try folder.run(),
      plays: [
        "good": [.exit(0, outputs: ["version": "1.2"])], "bad": [.exit(9, after: .seconds(2))],
      ]
    )
    try run.end()
    #expect(run.run.explain("good") == "good succeeded, after 1 s\n  version=1.2")
    #expect(run.run.explain("bad") == "bad failed: exited with 9, after 2 s")
    #expect(run.run.explain("after") == "after was not run, because ‘bad’ failed")
  }

  @Test func `A step that waits for its next attempt says so`() throws {
    var step = Step("a")
    step.retry = RetryRule(attempts: 2)
    step.retry?.delay = .seconds(30)
    let run = SimulatedRun(Workflow([step]), in: try folder.run(), plays: ["a": [.exit(1)]])
    let texts = try explain(["a"], at: .seconds(11), of: run)
    #expect(texts[0]?.contains("20 s") == true)
  }

  @Test(arguments: [
    (5, "a waits: attempt 1 failed (exited with 1); tries again in "),
    (30, "a waits for “database”, which b holds, for 19 s, to begin attempt 2"),
  ])
  func `A step between two attempts says what it waits for`(seconds: Int, text: String) throws {
    var retrying = Step("a") { $0.exclusive = ["database"] }
    retrying.retry = RetryRule(attempts: 2)
    retrying.retry?.delay = .seconds(10)
    // It comes when the first attempt has begun.
    let other = Step("b", needs: ["z"]) { $0.exclusive = ["database"] }
    let run = SimulatedRun(
      Workflow([retrying, Step("z"), other]),
      in: try folder.run(),
      plays: [
        "a": [.exit(1), .exit(0)], "z": [.exit(0, after: .milliseconds(500))],
        "b": [.exit(0, after: .seconds(60))],
      ]
    )
    let explained = try #require(try explain(["a"], at: .seconds(seconds), of: run)[0])
    #expect(explained.hasPrefix(text), "\(explained)")
  }

  @Test func `The timeline names the machines that steps ran on`() throws {
    struct Elsewhere: StepEngine {
      var name: String { "elsewhere" }
      func run(
        _ attempt: StepAttempt,
        report: @escaping @Sendable (StepReport) -> Void
      ) async throws -> StepExit {
        let node = attempt.number == 1 && attempt.step.id == "b" ? "n1" : "n2"
        report(.started(node: node, handle: nil))
        if node == "n1" { throw ScriptedEngine.Lost() }
        return StepExit(.exited(0), node: node)
      }
    }
    let simulation = SimulatedEnvironment(seed: 1)
    let run = WorkflowRun(
      Workflow([Step("a"), Step("b")]),
      in: try folder.run(),
      engine: Elsewhere(),
      options: .init(jobs: 2),
      environment: simulation.environment,
      sideWork: .sender
    ) { _ in }
    #expect(try simulation.run { try await run.run() }.succeeded == 2)
    #expect(run.timeline().spans.map(\.name).sorted() == ["a on n2", "b on n1, n2"])
    #expect(run.timeline().svg().contains(">b on n1, n2<"))
    #expect(run.timeline().chromeTrace().contains("\"name\":\"a on n2\""))
  }

  @Test func `The graph has the steps before and after the run, the timeline after it`() throws {
    let run = SimulatedRun(Workflow([Step("a"), Step("b", needs: ["a"])]), in: try folder.run())
    let graph = run.run.graph()
    #expect(graph.nodes.map(\.name).sorted() == ["a", "b"])
    #expect(graph.edges.count == 1)
    try run.end()
    #expect(run.run.timeline().spans.map(\.name).sorted() == ["a", "b"])
    #expect(run.run.timeline().duration == .seconds(2))
  }

  @Test func `Thousands of steps that wait are explained and cancelled without a line for each`()
    throws
  {
    let count = 5_000
    let steps =
      [Step("first")]
      + (0..<count).map { number in Step("s\(number)", needs: ["first"]) }
    let run = SimulatedRun(
      Workflow(steps),
      in: try folder.run(),
      plays: ["first": [.endless()]],
      jobs: 2
    )
    let texts = Mutex<[String?]>([])
    run.at(.seconds(10)) {
      let text = run.run.explain("s\(count - 1)")
      texts.withLock { $0 = [text] }
      run.run.cancel(because: "no time")
    }
    #expect(try run.end().cancelled == count + 1)
    #expect(
      texts.withLock { $0 } == ["s\(count - 1) waits for first\n  first has been running for 10 s"]
    )
    #expect(!run.events.words.contains { $0.contains("waits") })
  }
}
