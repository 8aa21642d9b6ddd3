import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite(.watched, .heavy) struct `A complete exploration` {
  /// The names of operations decide on nothing: neither which states are the same, nor which
  /// operation a step is for.
  @Test(arguments: SmallWorkflow.Naming.allCases)
  func `an exploration tries every order whatever the operations' names are`(
    naming: SmallWorkflow.Naming
  ) async throws {
    let compared = try await offPool {
      var compared = 0
      for seed in Effort.seeds(25) {
        let workflow = SmallWorkflow(seed: seed)
        let most = Effort.schedules(4_000)
        guard let all = try workflow.orders(isPruned: false, atMost: most) else { continue }
        let found = try workflow.orders(naming, atMost: .max)
        #expect(found == all, "seed \(seed)")
        compared += 1
      }
      return compared
    }
    #expect(compared > (Effort.isOrdinary ? 1 : 10))
  }

  @Test func `an exploration tries every order that threads show`() async throws {
    var shown = 0
    for seed in Effort.seeds(20) {
      let workflow = SmallWorkflow(seed: seed)
      let explored = try await offPool { try workflow.orders(atMost: Effort.schedules(4_000)) }
      guard let explored else { continue }
      for _ in 0..<Effort.rounds(300) {
        let order = try await workflow.orderOnThreads()
        #expect(explored.contains(order), "seed \(seed): \(order)")
        shown += 1
      }
    }
    #expect(shown > 0)
  }

  /// As in a report that says *all 24 schedules* while 17 orders were tried.
  @Test(arguments: [
    (["a", "a", "a #2", "d"], [String]()), (["a", "b"], ["start a", "start b"]),
    (["a", "a #2"], ["a", "a"]),
  ])
  func `an exploration tries every order of steps with other steps' names`(
    operations: [String],
    steps: [String]
  ) async throws {
    let (report, orders) = try await offPool {
      var orders: Set<[String]> = []
      let report = try exploreSchedules { simulation in
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        let log = PartLog()
        for (index, name) in operations.enumerated() {
          let operation = BlockOperation { log.add("operation \(index)") }
          operation.name = name
          queue.addOperation(operation)
        }
        for (index, name) in steps.enumerated() {
          simulation.addStep(name) { log.add("step \(index)") }
        }
        simulation.run()
        orders.insert(log.all)
      }
      return (report, orders)
    }
    #expect(report.isComplete)
    // Four things in any order.
    #expect(orders.count == 24)
  }

  /// Operations of two queues that have one name, so that a queue's decision is what tells which of
  /// them is seen first.
  @Test func `an exploration tries every order of equal names in two queues`() async throws {
    let (report, orders) = try await offPool {
      var orders: Set<[String]> = []
      let report = try exploreSchedules { simulation in
        let log = PartLog()
        for index in 0..<2 {
          let queue = AdvancedOperationQueue(environment: simulation.environment)
          for part in ["first", "second"] {
            queue.maxConcurrentOperationCount = 1
            let operation = BlockOperation { log.add("\(part) of \(index)") }
            operation.name = "a"
            queue.addOperation(operation)
          }
        }
        simulation.run()
        orders.insert(log.all)
      }
      return (report, orders)
    }
    #expect(report.isComplete)
    // Two of four places for the first queue.
    #expect(orders.count == 6)
  }

  /// The turns of two actors that one operation has called have the same name.
  @Test
  func `an exploration tries both orders of two actors that one operation calls`() async throws {
    actor Place {
      let log: PartLog
      let name: String
      init(_ name: String, _ log: PartLog) {
        self.name = name
        self.log = log
      }
      func visit() { log.add(name) }
    }
    let orders = try await offPool {
      var orders: Set<[String]> = []
      try exploreSchedules { simulation in
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        let log = PartLog()
        let (left, right) = (Place("left", log), Place("right", log))
        queue.addOperation(
          ResultOperation(name: "work") {
            async let a: Void = left.visit()
            async let b: Void = right.visit()
            _ = await (a, b)
          }
        )
        simulation.run()
        orders.insert(log.all)
      }
      return orders
    }
    #expect(orders == [["left", "right"], ["right", "left"]])
  }

  @Test func `an exploration lets a timeout of zero end the operation at any step`() async throws {
    let ends = try await offPool {
      var ends: Set<String> = []
      let report = try exploreSchedules { simulation in
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        let log = PartLog()
        let work = ResultOperation(name: "work") {
          for part in ["a", "b"] {
            log.add(part)
            await Task.yield()
            try Task.checkCancellation()
          }
        }
        work.addObserver(TimeoutObserver(.zero))
        queue.addOperation(work)
        simulation.run()
        ends.insert("\(log.all.joined()) \(work.outcome?.kind.rawValue ?? "")")
      }
      #expect(report.isComplete)
      return ends
    }
    #expect(ends.contains("a cancelled"))
    #expect(ends.contains("ab succeeded"))
  }
}

@Suite(.watched) struct `A sleep whose end has passed when it begins` {
  /// Counts the jobs of a task.
  private final class Counting: TaskExecutor {
    private let kept = Locked(0)
    var count: Int { kept.withLock { $0 } }
    func enqueue(_ job: consuming ExecutorJob) {
      kept.withLock { $0 += 1 }
      let job = UnownedJob(job)
      DefaultExecutor.shared.enqueue {
        unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
      }
    }
  }

  private static let durations: [Duration] = [.zero, .nanoseconds(-1), .seconds(-3_600)]

  /// The number of times that a task is resumed which sleeps.
  private static func jobs(
    sleeping duration: Duration,
    by clock: OperationClock
  ) async throws -> Int {
    let executor = Counting()
    try await Task(executorPreference: executor) {
      try await clock.sleep(for: duration)
      try await clock.sleep(until: clock.now + duration)
    }.value
    return executor.count
  }

  @Test(arguments: durations)
  func `a sleep until a past time doesn't suspend the task`(duration: Duration) async throws {
    for clock in [OperationClock(ContinuousClock()), OperationClock(SuspendingClock())] {
      #expect(try await Self.jobs(sleeping: duration, by: clock) == 1)
    }
    let simulation = SimulatedEnvironment(seed: 1)
    simulation.advance(by: .seconds(10))
    let clock = simulation.environment.clock
    try simulation.run {
      try await clock.sleep(for: duration)
      try await clock.sleep(until: clock.now + duration)
    }
    #expect(simulation.log == "[10.0 seconds] step: task of code\n")
  }

  @Test(arguments: durations)
  func `a timer that is already due becomes a step immediately`(duration: Duration) {
    let simulation = SimulatedEnvironment(seed: 1)
    simulation.advance(by: .seconds(10))
    let log = PartLog()
    let clock = simulation.environment.clock
    let timer = clock.schedule(at: clock.now + duration) { log.add("timer") }
    #expect(simulation.pending == ["timer of outside"])
    // A step that was added later may come first, and the timer before a step that is pending.
    simulation.addStep("other") { log.add("other") }
    simulation.run()
    #expect(Set(log.all) == ["timer", "other"])
    timer.cancel()
  }
}
