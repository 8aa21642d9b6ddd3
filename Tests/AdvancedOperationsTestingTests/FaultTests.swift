import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

private struct Flaw: Error, Equatable {}

@Suite struct `An injected fault` {
  private final class Body: AdvancedOperation, @unchecked Sendable {
    private let entered = Locked<Duration?>(nil)
    var enteredAt: Duration? { entered.withLock { $0 } }
    override func execute() {
      entered.withLock { $0 = environment.clock.now }
      finish()
    }
  }

  /// Runs an operation of the name “work” with a fault in it.
  private static func run(
    _ fault: OperationFault,
    at state: AdvancedOperation.State,
    seed: UInt64 = 1,
    _ prepare: (Body) -> Void = { _ in }
  ) throws -> (Body, SimulatedEnvironment) {
    let simulation = SimulatedEnvironment(seed: seed)
    try simulation.inject(fault, into: "work", at: state)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let (body, other) = (Body(), Body())
    body.name = "work"
    prepare(body)
    queue.addOperations([body, other])
    simulation.run()
    #expect(other.outcome?.isSuccess == true)
    #expect(body.isFinished)
    #expect(queue.operationCount == 0)
    return (body, simulation)
  }

  @Test func `an injected fault can be an error of a condition`() throws {
    let (body, _) = try Self.run(.error(Flaw()), at: .evaluatingConditions)
    try expectConditionFailure(of: body, is: Flaw(), condition: "fault")
    #expect(body.enteredAt == nil)
  }

  @Test(arguments: [false, true])
  func `an injected body error prevents the body from being entered`(isObserved: Bool) throws {
    let (body, _) = try Self.run(.error(Flaw()), at: .executing) { body in
      if isObserved { body.addObserver(RecordingObserver()) }
    }
    try expectOutcome(of: body, is: .failed)
    #expect(body.errors as? [Flaw] == [Flaw()])
    #expect(body.enteredAt == nil)
  }

  @Test(arguments: [AdvancedOperation.State.pending, .evaluatingConditions, .executing])
  func `an injected delay lets time pass`(state: AdvancedOperation.State) throws {
    for isObserved in [false, true] {
      let (body, simulation) = try Self.run(.delay(.seconds(90)), at: state) { body in
        if isObserved { body.addObserver(RecordingObserver()) }
      }
      try expectOutcome(of: body, is: .succeeded)
      #expect(body.enteredAt == .seconds(90))
      #expect(simulation.now == .seconds(90))
    }
  }

  @Test func `a body that an injected delay holds is entered even after a timeout`() throws {
    let (body, _) = try Self.run(.delay(.seconds(90)), at: .executing) { body in
      body.addObserver(TimeoutObserver(.seconds(30)))
    }
    try expectOutcome(of: body, is: .cancelled)
    #expect(body.hasStarted)
    #expect(body.enteredAt == .seconds(90))
  }

  @Test(arguments: [
    AdvancedOperation.State.pending, .evaluatingConditions, .ready, .executing,
  ])
  func `an injected fault cancels in any state before the end is decided`(
    state: AdvancedOperation.State
  ) throws {
    let (body, simulation) = try Self.run(.cancel, at: state) { body in
      body.addCondition(BlockCondition { true })
    }
    try expectOutcome(of: body, is: .cancelled)
    try expectFaultsHappened(in: simulation)
    #expect(body.enteredAt == nil)
  }

  /// What keeps an operation that is ready.
  enum Obstacle: CaseIterable {
    case nothing, claim, slot, suspension, dependency, condition
  }

  @Test(arguments: Obstacle.allCases)
  func `an injected cancel applies at ready whatever delays the operation`(
    obstacle: Obstacle
  ) throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let clock = simulation.environment.clock
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    try simulation.inject(.cancel, into: "work", at: .ready)
    let holder = ResultOperation(name: "holder") { try await clock.sleep(for: .seconds(2)) }
    let cancelledAt = Locked<Duration?>(nil)
    let work = Body()
    work.name = "work"
    work.onCancel { _, _ in cancelledAt.withLock { $0 = clock.now } }
    switch obstacle {
    case .nothing: break
    case .claim: for one in [holder, work] { one.addClaim(MutuallyExclusive("place")) }
    case .slot: queue.maxConcurrentOperationCount = 1
    case .suspension: queue.isSuspended = true
    case .dependency: work.addDependency(holder)
    case .condition: work.addCondition(BlockCondition { true })
    }
    queue.addOperation(holder)
    simulation.advance(by: .seconds(1))
    queue.addOperation(work)
    simulation.advance(by: .zero)
    #expect((cancelledAt.withLock { $0 } == nil) == (obstacle == .dependency))
    simulation.run()
    queue.isSuspended = false
    simulation.run()
    try expectOutcome(of: work, is: .cancelled)
    try expectFaultsHappened(in: simulation)
    #expect(work.enteredAt == nil)
    #expect(cancelledAt.withLock { $0 } == .seconds(obstacle == .dependency ? 2 : 1))
  }

  @Test func `an injected cancel applies at ready in every order and replay`() throws {
    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      try simulation.inject(.cancel, into: "second", at: .ready)
      let first = ResultOperation(name: "first") { 1 }
      let (second, other) = (Body(), Body())
      second.name = "second"
      second.addDependency(first)
      queue.addOperations([first, second, other])
      simulation.run()
      try expectOutcome(of: second, is: .cancelled)
      try expectFaultsHappened(in: simulation)
    }
    #expect(report.isComplete)
  }

  @Test(arguments: AdvancedOperation.State.allCases)
  func `injecting a fault at an impossible state throws with the call's line`(
    state: AdvancedOperation.State
  ) throws {
    let faults: [(OperationFault, noun: String, states: Set<AdvancedOperation.State>)] = [
      (.error(Flaw()), "an error", [.evaluatingConditions, .executing]),
      (.delay(.seconds(1)), "a delay", [.pending, .evaluatingConditions, .executing]),
      (.cancel, "a cancel", [.pending, .evaluatingConditions, .ready, .executing]),
    ]
    for (fault, noun, states) in faults {
      let simulation = SimulatedEnvironment(seed: 7)
      if states.contains(state) {
        try simulation.inject(fault, into: "work", at: state)
        continue
      }
      let line = #line + 2
      do {
        try simulation.inject(fault, into: "work", at: state)
        Issue.record("\(noun) was injected at \(state)")
      } catch let failure as ExpectationFailure {
        #expect(failure.line == line && failure.seed == 7)
        #expect(failure.fileID.hasSuffix("FaultTests.swift"))
        let sentence = "was called with \(noun), which can't be injected at \(state). Inject "
        #expect(failure.message.contains(sentence), "\(failure.message)")
      }
      // The fault isn't among those that have to happen.
      try expectFaultsHappened(in: simulation)
    }
  }

  // MARK: Without an effect

  /// What is said of the faults of a simulation; empty when all have happened.
  private static func problem(in simulation: SimulatedEnvironment) -> String {
    do {
      try expectFaultsHappened(in: simulation)
      return ""
    } catch {
      return "\(error)"
    }
  }

  @Test func `an injected fault doesn't happen to an operation with a recorded value`() throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let journal = InMemoryJournal([.init(key: "work", value: 1)])
    let work = ResultOperation { 2 }.recorded(as: "work", in: journal)
    try simulation.inject(.error(Flaw()), into: "work", at: .evaluatingConditions)
    AdvancedOperationQueue(environment: simulation.environment).addOperation(work)
    simulation.run()
    #expect(try expectValue(of: work) == 1)
    let problem = Self.problem(in: simulation)
    let expected = "have changed nothing: the fault into “work” at evaluatingConditions."
    #expect(problem.contains(expected), "\(problem)")
  }

  @Test func `an injected fault doesn't happen to an operation that was cancelled before`() throws {
    for (fault, state) in [
      (.cancel, .ready), (.delay(.seconds(1)), .pending), (.error(Flaw()), .evaluatingConditions),
    ] as [(OperationFault, AdvancedOperation.State)] {
      let (body, simulation) = try Self.run(fault, at: state) { $0.cancel() }
      try expectOutcome(of: body, is: .cancelled)
      let problem = Self.problem(in: simulation)
      #expect(problem.contains("the fault into “work” at \(state)"), "\(problem)")
    }
  }

  @Test func `an injected fault doesn't happen if another came first`() throws {
    let simulation = SimulatedEnvironment(seed: 1)
    for fault in [OperationFault.cancel, .error(Flaw()), .delay(.seconds(1))] {
      try simulation.inject(fault, into: "work", at: .executing)
    }
    let work = Body()
    work.name = "work"
    AdvancedOperationQueue(environment: simulation.environment).addOperation(work)
    simulation.run()
    try expectOutcome(of: work, is: .cancelled)
    let one = "the fault into “work” at executing"
    let problem = Self.problem(in: simulation)
    #expect(problem.contains("have changed nothing: \(one), \(one)."), "\(problem)")
  }
}
