import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `Steps of a simulation` {
  private static func world(
    _ operations: Operation...
  ) -> (simulation: SimulatedEnvironment, queue: AdvancedOperationQueue) {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.name = "imports"
    queue.addOperations(operations)
    return (simulation, queue)
  }

  private static func named(_ name: String) -> AdvancedOperation {
    let operation = AdvancedOperation()
    operation.name = name
    return operation
  }

  @Test func `steps are taken one at a time and named while pending`() {
    let (simulation, _) = Self.world(ResultOperation(name: "work") {})
    #expect(simulation.pending == ["worker of imports"])
    #expect(simulation.step())
    #expect(simulation.pending == ["start work"])
    #expect(simulation.step())
    #expect(simulation.pending == ["task of work"])
    #expect(simulation.step())
    #expect(simulation.pending.isEmpty)
    #expect(!simulation.step())
  }

  @Test func `steps of operations with equal names are distinguished`() {
    let (simulation, _) = Self.world(Self.named("same"), Self.named("same"))
    simulation.step()
    simulation.step()
    #expect(Set(simulation.pending + [simulation.log]).count == simulation.pending.count + 1)
    simulation.run()
    #expect(simulation.log.contains("start same\n") || simulation.log.contains("start same ("))
    #expect(simulation.log.contains("start same #2"))
  }

  @Test func `a step advances time if nothing else is pending`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let clock = simulation.environment.clock
    let calls = Locked(0)
    _ = clock.schedule(at: .seconds(9)) { calls.withLock { $0 += 1 } }
    #expect(simulation.step())
    #expect(simulation.now == .seconds(9))
    #expect(calls.withLock { $0 } == 1)
    #expect(!simulation.step())
  }

  @Test func `a run ends when its condition is true`() throws {
    let operation = ResultOperation(name: "work") {
      try await OperationClock.current.sleep(until: .seconds(60))
    }
    let (simulation, _) = Self.world(operation)
    try simulation.run(until: { operation.isExecuting })
    #expect(operation.state == .executing)
    #expect(simulation.now == .zero)
    #expect(throws: ExpectationFailure.self) {
      try simulation.run(until: { operation.isCancelled })
    }
    #expect(operation.isFinished)
  }

  @Test func `a run ends at a time and leaves later steps pending`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let clock = simulation.environment.clock
    let calls = Locked<[Int]>([])
    for second in 1...4 {
      _ = clock.schedule(at: .seconds(second)) { calls.withLock { $0.append(second) } }
    }
    simulation.run(until: .seconds(2))
    #expect(calls.withLock { $0 } == [1, 2])
    #expect(simulation.now == .seconds(2))
    simulation.run(until: .seconds(1))
    #expect(simulation.now == .seconds(2))
    simulation.run()
    #expect(calls.withLock { $0 } == [1, 2, 3, 4])
  }

  @Test func `a step that the test adds is taken at some moment of the workflow`() {
    // It meets the operation before it is decided on, before it starts, and when it is over.
    var states: Set<String> = []
    for seed in 1...60 as ClosedRange<UInt64> {
      let simulation = SimulatedEnvironment(seed: seed)
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let operation = ResultOperation {}
      let seen = Locked("")
      queue.addOperation(operation)
      simulation.addStep("look") { seen.withLock { $0 = "\(operation.state)" } }
      #expect(simulation.pending.contains("look"))
      simulation.run()
      states.insert(seen.withLock { $0 })
    }
    #expect(states == ["ready", "executing", "finished"])
  }

  @Test func `a cancel between a decision and a start prevents the body`() {
    // The start was decided, and the cancel came in between: the body is not entered.
    let ran = Locked(false)
    let operation = BlockOperation { ran.withLock { $0 = true } }
    let (simulation, _) = Self.world(operation)
    simulation.step()
    #expect(simulation.pending == ["start BlockOperation"])
    operation.cancel()
    simulation.run()
    #expect(operation.isFinished)
    #expect(!ran.withLock { $0 })
  }

  @Test func `a completion block is a separate step`() {
    let operation = BlockOperation {}
    operation.name = "work"
    operation.completionBlock = {}
    let (simulation, queue) = Self.world(operation)
    simulation.step()
    simulation.step()
    #expect(operation.isFinished)
    #expect(simulation.pending == ["completion of work"])
    #expect(queue.operationCount == 1)
    simulation.run()
    #expect(queue.operationCount == 0)
  }
}

@Suite struct `Operations that leave a simulation` {
  /// Ends when the test says so, on a thread that the simulation doesn't know.
  private static func leaver(_ wait: AsyncWait) -> ResultOperation<Void> {
    ResultOperation(name: "leaver") { try await Task.detached { try await wait.wait() }.value }
  }

  @Test func `an operation that leaves the simulation is named with its last step`() {
    let wait = AsyncWait()
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let operation = Self.leaver(wait)
    queue.addOperation(operation)
    #expect(simulation.strays.isEmpty, "steps are pending")
    simulation.run()
    #expect(operation.state == .executing)
    #expect(simulation.strays.map(\.name) == ["leaver"])
    #expect(simulation.strays.map(\.lastStep) == ["task of leaver"])
    #expect(simulation.strays.map(\.state) == [.executing])
    #expect("\(simulation.strays)".contains("Task.sleep"))
    wait.finish()
  }

  @Test func `an operation that waits in the simulation isn't a stray`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let probed = AdvancedOperation()
    let probe = ConditionProbe()
    probed.addCondition(probe)
    let child = AdvancedOperation()
    child.addCondition(probe)
    let sleeper = ResultOperation {
      try await OperationClock.current.sleep(until: .seconds(60))
    }
    queue.addOperations([probed, GroupOperation { child }, sleeper])
    simulation.advance(by: .seconds(1))
    #expect(simulation.strays.isEmpty)
    simulation.run()
    #expect(simulation.strays.isEmpty)
    #expect(sleeper.isFinished)
    probe.answer(.satisfied)
    simulation.run()
    #expect(queue.operationCount == 0)
  }

  @Test func `an operation that sleeps by another clock is named with a remedy`() throws {
    /// A clock that stands still.
    final class Still: OperationClock.Source {
      let identity = ClockIdentity()
      let wait: AsyncWait
      init(_ wait: AsyncWait) { self.wait = wait }
      var now: Duration { .zero }
      func sleep(until deadline: Duration) async throws { try await wait.wait() }
      func schedule(
        at deadline: Duration,
        _ action: @escaping @Sendable () -> Void
      ) -> OperationTimer { OperationTimer(action) }
    }
    let wait = AsyncWait()
    let simulation = SimulatedEnvironment(seed: 1)
    var environment = simulation.environment
    environment.clock = OperationClock(source: Still(wait))
    let queue = AdvancedOperationQueue(name: "imports", environment: environment)
    let nap = ResultOperation(name: "nap") {
      try await OperationClock.current.sleep(for: .seconds(1))
    }
    let next = nap.then(name: "next") { _ in }
    queue.addOperation(nap)
    AdvancedOperationQueue(environment: simulation.environment).addOperation(next)
    simulation.run()
    let remark =
      "“nap” is in queue “imports”, which has the executor of this simulation and another clock"
    #expect(simulation.strays.count == 1)
    let text = try #require(simulation.strays.first).description
    #expect(text.contains(remark) && !text.contains("left the simulation"), "\(text)")
    for operation in [nap, next] {
      let failure = #expect(throws: ExpectationFailure.self) {
        try expectOutcome(of: operation, is: .succeeded)
      }
      #expect(try #require(failure).message.contains(remark))
    }
    wait.finish()
    simulation.run()
    #expect(next.isFinished)
  }

  @Test func `an operation that leaves the simulation fails an exploration`() throws {
    // One for each schedule, because a failure is run again.
    let waits = Locked<[AsyncWait]>([])
    let failure = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules { simulation in
        let wait = AsyncWait()
        waits.withLock { $0.append(wait) }
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        queue.addOperation(Self.leaver(wait))
        simulation.run()
      }
    }
    #expect(try #require(failure).description.contains("“leaver” is executing"))
    for wait in waits.withLock({ $0 }) { wait.finish() }
  }
}

extension AsyncWait {
  fileprivate func wait() async throws {
    try await run { _ in
      true
    } unregister: { _ in
    }
  }
}
