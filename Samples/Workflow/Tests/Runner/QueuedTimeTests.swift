import AdvancedOperations
import AdvancedOperationsTesting
import Testing
import WorkflowDocument

@testable import WorkflowRunner

/// The times of steps whose engine has a queue.
@Suite struct QueuedTimeTests {
  let folder: TemporaryFolder
  let events = Events()

  init() throws { folder = try TemporaryFolder() }

  /// Has each attempt wait for a minute, and then run for ten seconds.
  private struct Cluster: StepEngine {
    let clock: OperationClock
    /// How each attempt ends.
    var codes = [0]
    /// How long its node says that it ran.
    var ran: Duration?

    var name: String { "cluster" }

    func run(
      _ attempt: StepAttempt,
      report: @escaping @Sendable (StepReport) -> Void
    ) async throws -> StepExit {
      report(.waiting(for: "its turn"))
      try await clock.sleep(for: .seconds(60))
      report(.started(node: "n1", handle: nil))
      try await clock.sleep(for: .seconds(10))
      if let ran { report(.ran(for: ran)) }
      return StepExit(.exited(codes[min(attempt.number, codes.count) - 1]), node: "n1")
    }
  }

  private func run(
    _ step: Step = Step("a"),
    _ change: (inout Cluster) -> Void = { _ in },
    _ then: (WorkflowRun, SimulatedEnvironment) -> Void = { _, _ in }
  ) throws -> RunEnd {
    let simulation = SimulatedEnvironment(seed: 1)
    var cluster = Cluster(clock: simulation.environment.clock)
    change(&cluster)
    let events = events
    let run = WorkflowRun(
      Workflow([step]),
      in: try folder.run(),
      engine: cluster,
      options: .init(jobs: 1),
      environment: simulation.environment,
      sideWork: .sender
    ) {
      events.add($0)
    }
    then(run, simulation)
    return try simulation.run { try await run.run() }
  }

  @Test func `The time in Slurm's queue is reported, and isn't time of the step`() throws {
    #expect(try run().duration == .seconds(70))
    #expect(events.ends["a"]?.duration == .seconds(10))
    #expect(events.ends["a"]?.queued == .seconds(60))
  }

  @Test func `What the node says counts more than what was seen of it`() throws {
    _ = try run(Step("a")) { $0.ran = .seconds(12) }
    #expect(events.ends["a"]?.duration == .seconds(12))
    #expect(events.ends["a"]?.queued == .seconds(58))
  }

  @Test func `An attempt of an earlier runner counts as a whole`() throws {
    _ = try run(Step("a")) { $0.ran = .seconds(3_600) }
    #expect(events.ends["a"]?.duration == .seconds(3_600))
    #expect(events.ends["a"]?.queued == nil)
  }

  @Test func `All attempts and pauses of a retried step count`() throws {
    var step = Step("a")
    step.retry = RetryRule(attempts: 2)
    step.retry?.delay = .seconds(5)
    _ = try run(step) { $0.codes = [1, 2] }
    #expect(events.ends["a"]?.outcome == .failed)
    #expect(events.ends["a"]?.duration == .seconds(25))
    #expect(events.ends["a"]?.queued == .seconds(120))
  }

  @Test func `A step that was cancelled in the queue took no time`() throws {
    _ = try run(Step("a")) { _ in
    } _: { run, simulation in
      let clock = simulation.environment.clock
      _ = clock.schedule(at: .seconds(30)) { run.cancel(because: "no time") }
    }
    #expect(events.ends["a"]?.duration == .zero)
    #expect(events.ends["a"]?.queued == .seconds(30))
  }
}
