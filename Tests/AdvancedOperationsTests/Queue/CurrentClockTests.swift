import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `The current clock` {
  @Test func `the current clock in an operation is its environment's clock`() throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let clocks = Locked<[String: ClockIdentity]>([:])
    let note: @Sendable (_ place: String) -> Void = { place in
      let clock = OperationClock.current.identity
      clocks.withLock { $0[place] = clock }
    }
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let work = ResultOperation {
      note("body")
      async let child: Void = note("child task")
      await child
    }
    work.addCondition(
      BlockCondition {
        note("condition")
        return true
      }
    )
    queue.addOperations([work, Work { _ in note("execute") }])
    simulation.run()
    let expected = simulation.environment.clock.identity
    for place in ["body", "child task", "condition", "execute"] {
      #expect(clocks.withLock { $0[place] } === expected, "\(place)")
    }
  }

  @Test func `the current clock in simulated code is the simulation's clock`() throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let clock = try simulation.run {
      try await OperationClock.current.sleep(for: .seconds(30))
      return OperationClock.current.identity
    }
    #expect(clock === simulation.environment.clock.identity)
    #expect(simulation.now == .seconds(30))
  }

  @Test func `the current clock in a detached task is the default clock`() async throws {
    let expected = OperationEnvironment().clock.identity
    let environment = OperationEnvironment(clock: OperationClock(SuspendingClock()))
    let work = ResultOperation {
      #expect(OperationClock.current.identity !== expected)
      return await Task.detached { OperationClock.current.identity }.value
    }
    let identity = try await AdvancedOperationQueue(environment: environment).run(work)
    #expect(identity === expected)
    #expect(OperationClock.current.identity === expected)
  }
}
