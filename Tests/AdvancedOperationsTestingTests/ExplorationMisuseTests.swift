import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// What would make an exploration green that has explored nothing.
@Suite struct `An exploration fails` {
  private static func message(_ workflow: (SimulatedEnvironment) throws -> Void) throws -> String {
    let failure = #expect(throws: ScheduleFailure.self) { try exploreSchedules(of: workflow) }
    return "\(try #require(failure).underlying)"
  }

  private static func queue(_ simulation: SimulatedEnvironment) -> AdvancedOperationQueue {
    AdvancedOperationQueue(environment: simulation.environment)
  }

  @Test func `an exploration fails if its workflow doesn't run the simulation`() throws {
    let message = try Self.message { simulation in
      Self.queue(simulation).addOperation(BlockOperation {})
    }
    #expect(message.hasPrefix("Steps of the simulation are pending at the end of the workflow: “"))
    #expect(message.hasSuffix("Call simulation.run() in the workflow, which takes them."))
  }

  @Test func `an exploration fails if its workflow adds a step after the run`() throws {
    let message = try Self.message { simulation in
      let queue = Self.queue(simulation)
      queue.addOperation(BlockOperation {})
      simulation.run()
      for _ in 0..<9 { simulation.addStep("late") { queue.addOperation(BlockOperation {}) } }
    }
    #expect(message.contains("“late”, “late #2”, “late #3”, “late #4”, “late #5” and 4 more. "))
    #expect(message.hasSuffix("added after the last run(): call simulation.run() once more."))
  }

  @Test func `an exploration fails if its queue is outside of the simulation`() throws {
    let message = try Self.message { simulation in
      let queue = AdvancedOperationQueue()
      queue.addOperation(BlockOperation {})
      simulation.run()
      queue.waitUntilAllOperationsAreFinished()
    }
    #expect(message.hasPrefix("No step was taken: "))
    #expect(message.contains("AdvancedOperationQueue(environment: simulation.environment)"))
  }

  @Test func `an exploration fails if its workflow takes no step`() throws {
    #expect(try Self.message { $0.run() }.hasPrefix("No step was taken: "))
    #expect(try Self.message { _ in }.hasPrefix("No step was taken: "))
  }

  @Test func `an exploration fails with the workflow's own error if there is one`() throws {
    let failure = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules { _ in throw CancellationError() }
    }
    #expect(try #require(failure).underlying is CancellationError)
  }

  @Test func `a replay fails if its workflow doesn't run the simulation`() throws {
    let failure = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules(replaying: "1;") { simulation in
        Self.queue(simulation).addOperation(BlockOperation {})
      }
    }
    #expect(try #require(failure).description.contains("schedule 1 fails: Steps of the simulation"))
  }

  @Test func `an exploration may stop in the middle of its workflow`() throws {
    let ends: [@Sendable (SimulatedEnvironment, ResultOperation<Void>) throws -> Void] = [
      { simulation, work in try simulation.run(until: { work.isExecuting }) },
      { simulation, _ in simulation.run(until: .zero) },
      { simulation, _ in simulation.advance(by: .zero) },
      { simulation, _ in simulation.step() },
    ]
    for end in ends {
      let report = try exploreSchedules { simulation in
        let clock = simulation.environment.clock
        let work = ResultOperation {
          await Task.yield()
          try await clock.sleep(for: .seconds(1))
        }
        Self.queue(simulation).addOperation(work)
        try end(simulation, work)
        try #require(!work.isFinished)
      }
      #expect(report.isComplete)
    }
  }
}
