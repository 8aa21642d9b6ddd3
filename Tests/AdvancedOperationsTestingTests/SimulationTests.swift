import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Dispatch
import Testing

@Suite struct `A simulation` {
  @Test func `a simulation returns its seed`() {
    #expect(SimulatedEnvironment(seed: 17).seed == 17)
  }

  @Test func `a simulation logs each event with its time`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let operation = ResultOperation(name: "work") {
      guard let clock = AdvancedOperation.current?.environment.clock else { return }
      try await clock.sleep(until: .seconds(3))
    }
    queue.addOperation(operation)
    simulation.run()
    #expect(
      simulation.log == """
        [0.0 seconds] work: pending
        [0.0 seconds] step: worker of queue
        [0.0 seconds] step: start work
        [0.0 seconds] work: executing
        [0.0 seconds] step: task of work
        [3.0 seconds] step: timer of work
        [3.0 seconds] step: task of work
        [3.0 seconds] work: finishing
        [3.0 seconds] work: finished, succeeded

        """
    )
  }

  @Test func `a simulation continues with operations that were added between runs`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    for _ in 0..<3 {
      let operation = ResultOperation {}
      queue.addOperation(operation)
      simulation.run()
      #expect(operation.isFinished)
    }
  }

  @Test func `completion blocks are steps of the simulation`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let didComplete = Locked(false)
    let operation = BlockOperation {}
    operation.completionBlock = { didComplete.withLock { $0 = true } }
    queue.addOperation(operation)
    simulation.run()
    #expect(didComplete.withLock { $0 })
    #expect(queue.operationCount == 0)
  }

  @Test func `two simulations are independent of each other`() {
    let simulations = [SimulatedEnvironment(seed: 1), SimulatedEnvironment(seed: 1)]
    let operations = simulations.map { simulation in
      let operation = ResultOperation {}
      operation.addClaim(MutuallyExclusive("a", whenBusy: .fail))
      AdvancedOperationQueue(environment: simulation.environment).addOperation(operation)
      return operation
    }
    simulations[0].run()
    #expect(operations.map(\.isFinished) == [true, false])
    simulations[1].run()
    #expect(operations[1].isFinished)
    #expect(
      simulations[0].environment.claimDomain !== simulations[1].environment.claimDomain
    )
  }

  @Test func `advancing a simulation within its own step traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let simulation = SimulatedEnvironment(seed: 1)
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      queue.addOperation(BlockOperation { simulation.advance(by: .seconds(1)) })
      simulation.advance(by: .zero)
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(
      text.contains("advance(by:) of SimulatedEnvironment(seed: 1) was called from a step"),
      "\(text)"
    )
  }

  @Test func `running a simulation on two threads traps and names both calls`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let simulation = SimulatedEnvironment(seed: 1)
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      queue.addOperation(
        BlockOperation {
          // The step doesn't return before the other thread has made its call.
          let returned = DispatchSemaphore(value: 0)
          DispatchQueue(label: "another thread").async {
            simulation.step()
            returned.signal()
          }
          returned.wait()
        }
      )
      simulation.run()
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(
      text.contains("step() of SimulatedEnvironment(seed: 1) was called while its run() takes"),
      "\(text)"
    )
  }

  @Test func `a run within a run's condition traps and says so`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let simulation = SimulatedEnvironment(seed: 1)
      try simulation.run(until: {
        simulation.run()
        return true
      })
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("was called from the condition of its run(until:)"), "\(text)")
  }

  @Test func `a step may run another simulation`() {
    let outer = SimulatedEnvironment(seed: 1)
    let inner = SimulatedEnvironment(seed: 2)
    let operation = ResultOperation {}
    AdvancedOperationQueue(environment: inner.environment).addOperation(operation)
    AdvancedOperationQueue(environment: outer.environment)
      .addOperation(BlockOperation { inner.run() })
    outer.run()
    #expect(operation.isFinished)
  }
}
