import AdvancedOperations
import AdvancedOperationsTesting
import WorkflowDocument

@testable import WorkflowRunner

/// A run in a simulation, with an engine that follows a script.
struct SimulatedRun {
  let simulation: SimulatedEnvironment
  let engine: ScriptedEngine
  let events = Events()
  let run: WorkflowRun

  init(
    _ workflow: Workflow,
    in folder: RunFolder,
    seed: UInt64 = 1,
    plays: [String: [ScriptedEngine.Play]] = [:],
    known: [String: StepExit] = [:],
    hasHandles: Bool = false,
    jobs: Int = 4,
    _ change: (inout WorkflowRun.Options) -> Void = { _ in }
  ) {
    simulation = SimulatedEnvironment(seed: seed)
    engine = ScriptedEngine(
      simulation.environment.clock,
      plays,
      known: known,
      hasHandles: hasHandles
    )
    var options = WorkflowRun.Options(jobs: jobs)
    options.environment = ["HOME": "/home/me", "CI": "true", "EMPTY": ""]
    change(&options)
    run = WorkflowRun(
      workflow,
      in: folder,
      engine: engine,
      options: options,
      environment: simulation.environment,
      sideWork: .sender
    ) { [events] in
      events.add($0)
    }
  }

  /// Runs it to its end.
  @discardableResult
  func end() throws -> RunEnd {
    let run = run
    return try simulation.run { try await run.run() }
  }

  /// Does something at a time of the simulation.
  func at(_ time: Duration, _ body: @escaping @Sendable () -> Void) {
    let clock = simulation.environment.clock
    _ = clock.schedule(at: time, body)
  }
}
