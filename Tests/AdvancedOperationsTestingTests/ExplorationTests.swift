import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

private struct Flaw: Error {}

/// What the parts of a workflow did, in order.
private final class Order: Sendable {
  private let kept = Locked<[String]>([])
  var all: [String] { kept.withLock { $0 } }
  func add(_ name: String) { kept.withLock { $0.append(name) } }
}

@Suite struct `An exploration of schedules` {
  /// Independent operations of one step each, in one queue.
  private static func independent(_ count: Int, _ order: Order, in simulation: SimulatedEnvironment)
  {
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    for number in 0..<count {
      let operation = BlockOperation { order.add("\(number)") }
      operation.name = "operation \(number)"
      queue.addOperation(operation)
    }
    simulation.run()
  }

  @Test(arguments: [(1, 1), (2, 2), (3, 6), (4, 24), (5, 120), (6, 720)])
  func `an exploration of n independent operations finds n factorial orders once each`(
    count: Int,
    orders: Int
  ) async throws {
    let (report, found) = try await offPool {
      var found: Set<[String]> = []
      let report = try exploreSchedules(depthFirst: 2_000) { simulation in
        let order = Order()
        Self.independent(count, order, in: simulation)
        found.insert(order.all)
      }
      return (report, found)
    }
    #expect(report.isComplete)
    #expect(report.scheduleCount == orders)
    #expect(found.count == orders)
  }

  @Test(arguments: [(1, 1), (2, 3), (3, 15), (4, 105), (5, 945)])
  func `an exploration without pruning finds all orders of decisions and starts`(
    count: Int,
    orders: Int
  ) async throws {
    // The i-th start follows the i-th decision, and decisions follow each other: 1·3·5·…·(2n-1).
    let report = try await offPool {
      try exploreSchedulesUnpruned(depthFirst: 10_000) { simulation in
        Self.independent(count, Order(), in: simulation)
      }
    }
    #expect(report.isComplete)
    #expect(report.scheduleCount == orders)
    #expect(report.prunedCount == 0)
  }
}

@Suite struct `Pruning` {
  /// What a workflow did, as text; each of them is small enough to go through all orders.
  private static let workflows: [@Sendable (SimulatedEnvironment, Order) -> Void] = [
    { simulation, order in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      queue.maxConcurrentOperationCount = 1
      for name in ["a", "b", "c"] {
        let operation = BlockOperation { order.add(name) }
        operation.queuePriority = name == "c" ? .high : .normal
        queue.addOperation(operation)
      }
      simulation.addStep("suspend") {
        queue.isSuspended = true
        order.add("suspend")
      }
      simulation.run()
      queue.isSuspended = false
      simulation.run()
    },
    { simulation, order in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let first = ResultOperation { order.add("first") }
      let second = first.then { order.add("second") }
      second.onFinish { operation, _ in
        order.add(operation.outcome?.isSuccess == true ? "ok" : "no")
      }
      queue.addOperations([first, second])
      simulation.addStep("cancel") { first.cancel() }
      simulation.run()
    },
    { simulation, order in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      for name in ["a", "b"] {
        let operation = ResultOperation {
          order.add("\(name) in")
          await Task.yield()
          order.add("\(name) out")
        }
        operation.addClaim(MutuallyExclusive("one"))
        queue.addOperation(operation)
      }
      simulation.run()
    },
    { simulation, order in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let blocks = (0..<3).map { number in BlockOperation { order.add("\(number)") } }
      blocks[2].addDependency(blocks[0])
      blocks[0].completionBlock = { order.add("completion") }
      queue.addOperations(blocks)
      queue.addBarrierBlock { order.add("barrier") }
      simulation.run()
    },
    { simulation, order in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let clock = simulation.environment.clock
      for name in ["a", "b"] {
        queue.addOperation(
          ResultOperation {
            try await clock.sleep(until: .seconds(1))
            order.add("\(name) at \(clock.now)")
          }
        )
      }
      simulation.run()
    },
  ]

  @Test(arguments: workflows.indices)
  func `an exploration with pruning finds every outcome with fewer schedules`(
    index: Int
  ) async throws {
    let (whole, all) = try await offPool {
      var all: Set<[String]> = []
      let report = try exploreSchedulesUnpruned(depthFirst: 60_000) { simulation in
        let order = Order()
        Self.workflows[index](simulation, order)
        all.insert(order.all)
      }
      return (report, all)
    }
    let (pruned, found) = try await offPool {
      var found: Set<[String]> = []
      let report = try exploreSchedules { simulation in
        let order = Order()
        Self.workflows[index](simulation, order)
        found.insert(order.all)
      }
      return (report, found)
    }
    #expect(whole.isComplete && pruned.isComplete)
    #expect(found == all)
    #expect(pruned.scheduleCount <= whole.scheduleCount)
    print("workflow \(index): \(whole.scheduleCount) schedules, \(pruned); \(all.count) outcomes")
  }
}

@Suite struct `A schedule that fails` {
  /// Fails when the last operation runs before the first.
  private static func workflow(_ simulation: SimulatedEnvironment) throws {
    let order = Order()
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    for name in ["a", "b", "c", "d"] { queue.addOperation(BlockOperation { order.add(name) }) }
    simulation.run()
    let all = order.all
    guard let d = all.firstIndex(of: "d"), let a = all.firstIndex(of: "a") else { return }
    if d < a { throw Flaw() }
  }

  @Test func `a failing schedule is found, shortened and fails again`() throws {
    let thrown = #expect(throws: ScheduleFailure.self) { try exploreSchedules(of: Self.workflow) }
    let failure = try #require(thrown)
    #expect(failure.underlying is Flaw)
    #expect(failure.fileID.hasSuffix("ExplorationTests.swift"))
    let schedule = try #require(Schedule(failure.schedule))
    // The start of the first has to be passed over; once is enough if what is taken is the last.
    #expect(schedule.choices.count <= 5, "\(schedule)")
    #expect(throws: Flaw.self) {
      let simulation = try #require(SimulatedEnvironment(replaying: failure.schedule))
      try Self.workflow(simulation)
    }
    #expect(throws: ScheduleFailure.self) {
      try exploreSchedules(replaying: failure.schedule, of: Self.workflow)
    }
    #expect(failure.description.contains("(replaying: \"\(failure.schedule)\")"))
    #expect(failure.log.contains("step: "))
  }

  @Test func `a failing schedule is found at random if there are too many`() {
    #expect(throws: ScheduleFailure.self) {
      try exploreSchedules(depthFirst: 1, randomSchedules: 300, of: Self.workflow)
    }
  }

  @Test func `a malformed text isn't a schedule`() {
    for text in ["", "1", ";", "1;2", "1;2=", "1;2=0", "1;2=1,2=1", "x;2=1", "1!0;2=1", "1;-1=1"] {
      #expect(Schedule(text) == nil, "\(text)")
      #expect(SimulatedEnvironment(replaying: text) == nil)
      #expect(throws: ExpectationFailure.self) {
        try exploreSchedules(replaying: text, of: Self.workflow)
      }
    }
    #expect(Schedule("7;2=1,5=3") == Schedule(seed: 7, choices: [2: 1, 5: 3]))
    #expect(Schedule("7!2;") == Schedule(seed: 7, interruptions: 2, choices: [:]))
    #expect("\(Schedule(seed: 7, choices: [5: 3, 2: 1]))" == "7;2=1,5=3")
  }

  @Test func `an exploration refuses a nondeterministic workflow`() throws {
    let runs = Locked(0)
    let failure = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules { simulation in
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        let count = runs.withLock { runs in
          runs += 1
          return runs == 1 ? 2 : 3
        }
        for number in 0..<count { simulation.addStep("\(number)") {} }
        queue.addOperation(BlockOperation {})
        simulation.run()
      }
    }
    #expect(try #require(failure).description.contains("not deterministic"))
  }

  @Test func `a report says how many schedules were explored without a failure`() throws {
    let report = try exploreSchedules(depthFirst: 10, randomSchedules: 5) { simulation in
      for number in 0..<5 { simulation.addStep("\(number)") {} }
      simulation.run()
    }
    #expect(!report.isComplete)
    #expect(report.randomCount == 5)
    #expect(report.scheduleCount + report.prunedCount == 10)
    #expect("\(report)".contains("; there are more: "))
  }

  @Test func `an exploration ends after 4,000 steps and 100 random schedules by default`() throws {
    let stepCount = Locked(0)
    let report = try exploreSchedules { simulation in
      for number in 0..<10 {
        simulation.addStep("\(number)") { stepCount.withLock { $0 += 1 } }
      }
      simulation.run()
    }
    #expect(!report.isComplete)
    #expect(report.randomCount == 100)
    // Beside them, some schedules are run again at the end.
    #expect(4_000..<6_000 ~= stepCount.withLock { $0 })
    #expect("\(report)".hasSuffix("pass a larger depthFirst: or randomSchedules:"), "\(report)")
  }

  @Test func `a report uses the singular for one schedule`() throws {
    let single = try exploreSchedules { simulation in
      simulation.addStep("only") {}
      simulation.run()
    }
    #expect("\(single)" == "1 schedule; there are no more")
    let begun = try exploreSchedules(depthFirst: 1, randomSchedules: 1) { simulation in
      for number in 0..<3 { simulation.addStep("\(number)") {} }
      simulation.run()
    }
    #expect("\(begun)".hasPrefix("1 schedule depth first, and 1 at random; "), "\(begun)")
  }
}
