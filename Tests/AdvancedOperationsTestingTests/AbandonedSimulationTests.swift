import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

/// Counts objects that exist.
private final class Population: Sendable {
  private let state = Locked(0)
  var count: Int { state.withLock { $0 } }
  func add(_ number: Int) { state.withLock { $0 += number } }
}

/// An object that counts as long as it exists, and may do something when it goes.
private final class Token: Sendable {
  private let population: Population
  private let onDeinit: (@Sendable () -> Void)?

  init(_ population: Population, onDeinit: (@Sendable () -> Void)? = nil) {
    self.population = population
    self.onDeinit = onDeinit
    population.add(1)
  }

  deinit {
    onDeinit?()
    population.add(-1)
  }

  func touch() {}
}

/// A synchronous operation that counts as long as it exists.
private final class Counted: AdvancedOperation, @unchecked Sendable {
  private let token: Token
  init(_ name: String, _ population: Population) {
    token = Token(population)
    super.init()
    self.name = name
  }
}

private struct Offline: Error {}

/// A condition that needs no task.
private struct Holding: OperationCondition {
  let token: Token
  func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? { .satisfied }
  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult { .satisfied }
}

@Suite struct `A simulation that is abandoned` {
  /// Everything that a queue keeps and that needs no task.
  private static func build(
    _ simulation: SimulatedEnvironment,
    _ population: Population
  ) {
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.maxConcurrentOperationCount = 2
    let clock = simulation.environment.clock
    func token() -> Token { Token(population) }
    func observed(_ operation: AdvancedOperation) -> AdvancedOperation {
      // A cycle, as programs make them: the operation has the observer, and that the operation.
      let token = token()
      operation.onFinish { _, _ in
        token.touch()
        _ = operation.name
      }
      operation.addCondition(Holding(token: token))
      return operation
    }
    let first = observed(Counted("first", population))
    first.addClaim(MutuallyExclusive("one"))
    let second = observed(Counted("second", population))
    second.addClaim(MutuallyExclusive("one"))
    second.addObserver(TimeoutObserver(.seconds(5)))
    let third = Counted("third", population)
    third.addDependencies([first, second])
    let held = HeldOperation(name: "held")
    held.addClaim(MutuallyExclusive("one"))
    let waiting = Counted("waiting", population)
    waiting.addClaim(MutuallyExclusive("one"))
    let group = GroupOperation(name: "group") {
      Counted("child", population)
      DelayOperation(name: "delay", .seconds(7))
    }
    let plain = BlockOperation { [token = token()] in token.touch() }
    plain.completionBlock = { [token = token()] in token.touch() }
    let failing = ResultOperation(name: "failing", retry: .constant(.seconds(3)).attempts(3)) {
      throw Offline()
    }
    let stuck = Counted("stuck", population)
    stuck.addDependency(HeldOperation(name: "never added"))
    queue.addOperations([first, second, third, held, waiting, group, plain, failing, stuck])
    queue.addBarrierBlock { [token = token()] in token.touch() }
    queue.addOperation(Counted("behind", population))
    _ = clock.schedule(at: .seconds(4)) { [token = token()] in token.touch() }
    _ = clock.schedule(at: .seconds(Int64.max)) { [token = token()] in token.touch() }
    simulation.addStep("test", atAnyTime: true) { [token = token()] in token.touch() }
    let suspended = AdvancedOperationQueue(environment: simulation.environment)
    suspended.isSuspended = true
    suspended.addOperation(Counted("in a suspended queue", population))
  }

  @Test(arguments: Effort.seeds(10))
  func `an abandoned simulation releases all operations after any step`(seed: UInt64) {
    let total: Int = {
      let simulation = SimulatedEnvironment(seed: seed)
      Self.build(simulation, Population())
      simulation.run()
      return simulation.log.split(separator: "\n").count { $0.contains("] step: ") }
    }()
    #expect(total > 20)
    for count in 0...total {
      let population = Population()
      do {
        let simulation = SimulatedEnvironment(seed: seed)
        Self.build(simulation, population)
        for _ in 0..<count { simulation.step() }
        #expect(population.count > 0)
      }
      #expect(population.count == 0, "seed \(seed), \(count) steps")
    }
  }

  @Test func `an abandoned simulation keeps only tasks that their own code retains`() {
    let population = Population()
    do {
      let simulation = SimulatedEnvironment(seed: 1)
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      var last = ResultOperation(name: "0") { [token = Token(population)] in
        token.touch()
        return 0
      }
      var operations: [Operation] = [last]
      for number in 1..<30 {
        last = last.then(name: "\(number)") { [token = Token(population)] value in
          token.touch()
          if number == 10 {
            try await OperationClock.current.sleep(for: .seconds(9))
          }
          return value + 1
        }
        operations.append(last)
      }
      queue.addOperations(operations)
      simulation.advance(by: .seconds(1))
      #expect(population.count == 20)
    }
    #expect(population.count == 1)
  }

  @Test(arguments: [0, 5, 5_000])
  func `an abandoned simulation releases a chain of any length without recursion`(steps: Int) {
    let population = Population()
    do {
      let simulation = SimulatedEnvironment(seed: 1)
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let token = Token(population)
      var last = ResultOperation { [token] in
        token.touch()
        return 0
      }
      var operations: [Operation] = [last]
      for _ in 0..<20_000 {
        last = last.then { [token] value in
          token.touch()
          return value + 1
        }
        operations.append(last)
      }
      queue.addOperations(steps % 2 == 0 ? operations : operations.reversed())
      for _ in 0..<steps { simulation.step() }
    }
    // The task of one operation may have begun, or be about to.
    #expect(population.count <= 1)
  }

  @Test func `an abandoned simulation runs no code of its operations`() {
    let calls = Locked<[String]>([])
    do {
      let simulation = SimulatedEnvironment(seed: 1)
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let body = ResultOperation(name: "body") {
        defer { calls.withLock { $0.append("defer") } }
        try await OperationClock.current.sleep(for: .seconds(5))
      }
      body.onFinish { _, _ in calls.withLock { $0.append("observer") } }
      let next = body.then { calls.withLock { $0.append("next") } }
      next.completionBlock = { calls.withLock { $0.append("completion") } }
      queue.addOperations([body, next])
      queue.addBarrierBlock { calls.withLock { $0.append("barrier") } }
      simulation.advance(by: .seconds(1))
      simulation.addStep("late") { calls.withLock { $0.append("step") } }
    }
    #expect(calls.withLock { $0 } == [])
  }

  @Test func `a deinit may use an abandoned simulation that is being released`() {
    let population = Population()
    let seen = Locked<[String]>([])
    do {
      let simulation = SimulatedEnvironment(seed: 1)
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let clock = simulation.environment.clock
      let other = AdvancedOperation()
      other.addDependency(HeldOperation())
      for number in 0..<3 {
        let operation = AdvancedOperation()
        operation.addClaim(MutuallyExclusive("one"))
        let token = Token(population) { [weak queue] in
          other.cancel()
          queue?.cancelAllOperations()
          let added = BlockOperation {}
          queue?.addOperation(added)
          _ = clock.schedule(at: .seconds(1)) {}
          seen.withLock { $0.append("\(number) at \(clock.now.components.seconds)") }
        }
        operation.onFinish { _, _ in token.touch() }
        queue.addOperation(operation)
      }
      queue.addOperation(other)
      simulation.advance(by: .zero)
      queue.addOperation(
        BlockOperation { [token = Token(population) { queue.isSuspended = true }] in token.touch() }
      )
    }
    #expect(population.count == 0)
    #expect(seen.withLock { $0.count } == 3)
  }

  @Test func `an abandoned simulation accepts no operations and its queue ends`() async {
    let population = Population()
    let queue: AdvancedOperationQueue
    let environment: OperationEnvironment
    do {
      let simulation = SimulatedEnvironment(seed: 1)
      environment = simulation.environment
      queue = AdvancedOperationQueue(environment: simulation.environment)
      queue.addOperation(Counted("early", population))
    }
    #expect(queue.operationCount == 0 && population.count == 0)
    queue.addOperation(Counted("late", population))
    queue.addOperations([Counted("later", population), Counted("last", population)])
    queue.addOperation { [token = Token(population)] in token.touch() }
    queue.addBarrierBlock { [token = Token(population)] in token.touch() }
    #expect(queue.operationCount == 0 && population.count == 0)
    let later = AdvancedOperationQueue(environment: environment)
    let waiting = Counted("waiting", population)
    waiting.addDependency(HeldOperation())
    later.addOperation(waiting)
    #expect(later.operationCount == 0)
    #expect(!queue.isClosed)
    let report = await queue.drain()
    #expect(report.succeededCount == 0)
  }

  @Test func `a failed expectation names an abandoned simulation`() throws {
    let operation = AdvancedOperation(name: "upload")
    do {
      let simulation = SimulatedEnvironment(seed: 1)
      AdvancedOperationQueue(environment: simulation.environment).addOperation(operation)
      simulation.step()
    }
    let failure = #expect(throws: ExpectationFailure.self) {
      try expectOutcome(of: operation, is: .succeeded)
    }
    #expect(
      try #require(failure).message
        .contains("The SimulatedEnvironment was released, and nothing runs its operations any more")
    )
  }

  @Test func `an abandoned simulation leaves finished operations unchanged`() {
    let first = ResultOperation(name: "first") { 1 }
    let second = first.then(name: "second") { $0 + 1 }
    do {
      let simulation = SimulatedEnvironment(seed: 1)
      AdvancedOperationQueue(environment: simulation.environment).addOperations([first, second])
      simulation.run()
    }
    #expect(second.dependencies == [first])
    #expect(second.outcome?.isSuccess == true)
  }

  // MARK: Explorations

  @Test func `an exploration of restarts retains little of each run`() throws {
    let population = Population()
    let runs = Locked(0)
    let most = Locked(0)
    let size = 15
    try exploreRestarts(randomSchedules: 3) { simulation, journal in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      runs.withLock { $0 += 1 }
      most.withLock { $0 = max($0, population.count) }
      var last = ResultOperation { [token = Token(population)] in
        token.touch()
        // The run keeps itself alive by that.
        return simulation.now.components.seconds
      }.recorded(as: "0", in: journal)
      queue.addOperation(last)
      for number in 1..<size {
        let next = last.then {
          [token = Token(population)] in
          token.touch()
          return $0 + 1
        }.recorded(as: "\(number)", in: journal)
        queue.addOperation(next)
        last = next
      }
      return last
    }
    // At most two tasks of a run have begun, or are about to: of a body, and of a condition.
    #expect(most.withLock { $0 } <= 3 * size + 2 * runs.withLock { $0 })
    #expect(population.count <= 2 * runs.withLock { $0 })
  }

  @Test func `an exploration retains little of tests that stop midway`() throws {
    let population = Population()
    let runs = Locked(0)
    try exploreSchedules(depthFirst: 50, randomSchedules: 50) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      runs.withLock { $0 += 1 }
      for number in 0..<3 {
        let first = ResultOperation(name: "\(number)") { [token = Token(population)] in
          token.touch()
          try await simulation.environment.clock.sleep(for: .seconds(60))
        }
        var last = first.then { [token = Token(population)] in token.touch() }
        queue.addOperations([first, last])
        for _ in 0..<5 {
          last = last.then { [token = Token(population)] in token.touch() }
          queue.addOperation(last)
        }
      }
      simulation.run(until: .seconds(30))
    }
    // Only the three bodies that sleep.
    #expect(population.count == 3 * runs.withLock { $0 })
  }

  @Test func `a simulation keeps its log until the exploration has reported a failure`() throws {
    let failure = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules { simulation in
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        queue.addOperation(
          ResultOperation(name: "slow") {
            try await simulation.environment.clock.sleep(for: .seconds(60))
          }
        )
        simulation.run(until: .seconds(30))
        throw Offline()
      }
    }
    #expect(try #require(failure).log.contains("step: start slow"))
  }
}
