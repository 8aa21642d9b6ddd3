import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// Workflows that poll have any number of schedules, and schedules of any length.
@Suite(.watched) struct `An exploration of a workflow that polls` {
  private struct Offline: Error {}

  enum Poll: CaseIterable { case oneYields, twoYield, repeats, retries }

  private static func makePoll() -> RepeatOperation<Int?> {
    RepeatOperation(name: "poll", every: .seconds(60)) { round in
      ResultOperation(name: "round") { round }
    }
  }

  private static func run(_ poll: Poll, in simulation: SimulatedEnvironment) {
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    switch poll {
    case .oneYields, .twoYield:
      let isSet = Locked(false)
      for number in 0..<(poll == .twoYield ? 2 : 1) {
        queue.addOperation(
          ResultOperation(name: "poll \(number)") {
            while !isSet.withLock({ $0 }) { await Task.yield() }
          }
        )
      }
      queue.addOperation(
        ResultOperation(name: "set") {
          await Task.yield()
          isSet.withLock { $0 = true }
        }
      )
    case .repeats:
      let poll = Self.makePoll()
      queue.addOperation(poll)
      simulation.addStep("cancel", atAnyTime: true) { poll.cancel() }
    case .retries:
      let fetch = ResultOperation<Void>(
        name: "fetch",
        retry: .constant(.seconds(60))
      ) {
        throw Offline()
      }
      queue.addOperation(fetch)
      simulation.addStep("cancel", atAnyTime: true) { fetch.cancel() }
    }
    simulation.run()
  }

  @Test(arguments: Poll.allCases)
  func `an exploration of a polling workflow ends incomplete with short schedules`(
    poll: Poll
  ) async throws {
    let (report, longest) = try await offPool {
      var longest = 0
      let report = try exploreSchedules(
        depthFirst: Effort.schedules(400),
        randomSchedules: Effort.drawn(100)
      ) { simulation in
        Self.run(poll, in: simulation)
        longest = max(longest, simulation.log.split(separator: "\n").count)
      }
      return (report, longest)
    }
    #expect(!report.isComplete)
    #expect(report.randomCount == Effort.drawn(100))
    // 32 rounds of depth first, and any number at random, each of some lines.
    #expect(longest < 10_000)
  }

  @Test func `an exploration says that a workflow polls after all short schedules`() throws {
    let report = try exploreSchedules(depthFirst: .max, randomSchedules: 0) { simulation in
      Self.run(.retries, in: simulation)
    }
    #expect(!report.isComplete)
    #expect("\(report)".contains("the workflow polls"))
    #expect(report.timesOfSteps["cancel"]?.contains(.seconds(60 * 20)) == true)
  }

  @Test func `an exploration fails an endless schedule with its last steps`() throws {
    let failure = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules(stepLimit: 500) { simulation in
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        queue.addOperation(Self.makePoll())
        simulation.run()
      }
    }
    let text = "\(try #require(failure))"
    #expect(
      text.contains("schedule 1 fails: The schedule has not ended after 500 steps"),
      "\(text)"
    )
    #expect(text.contains("; the last steps: “"))
    #expect(text.contains("replay it with exploreSchedules(replaying: \"1;\")"))
  }

  @Test func `an exploration fails a schedule whose time doesn't advance`() throws {
    let failure = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules(stepLimit: 500) { simulation in
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        queue.addOperation(ResultOperation(name: "spin") { while true { await Task.yield() } })
        while simulation.step() {}
      }
    }
    let text = "\(try #require(failure?.underlying))"
    #expect(text.hasPrefix("The schedule has not ended after 500 steps"), "\(text)")
  }

  /// On threads, the cancel would come between two of these sleeps.
  @Test func `an exploration ends if a body repeatedly sleeps for no time`() throws {
    let report = try exploreSchedules(depthFirst: 40, randomSchedules: 10) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let clock = simulation.environment.clock
      let poll = ResultOperation(name: "poll") { while true { try await clock.sleep(for: .zero) } }
      queue.addOperation(poll)
      simulation.addStep("cancel") { poll.cancel() }
      simulation.run()
      try expectOutcome(of: poll, is: .cancelled)
    }
    #expect(!report.isComplete)
    let failure = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules(stepLimit: 500) { simulation in
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        let clock = simulation.environment.clock
        queue.addOperation(
          ResultOperation(name: "poll") { while true { try await clock.sleep(for: .zero) } }
        )
        simulation.run()
      }
    }
    #expect("\(try #require(failure))".contains("has not ended after 500 steps"))
  }

  @Test func `an exploration accepts a workflow as long as its step limit`() throws {
    try exploreSchedules(depthFirst: 20, randomSchedules: 20, stepLimit: 200) { simulation in
      for _ in 0..<200 { simulation.addStep("step") {} }
      while simulation.step() {}
    }
  }

  @Test func `an exploration of restarts fails an endless run`() throws {
    let failure = #expect(throws: ExpectationFailure.self) {
      try exploreRestarts(stepLimit: 500) { simulation, journal in
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        let pay = ResultOperation { 50 }.recorded(as: "pay", in: journal)
        queue.addOperations([Self.makePoll(), pay])
        return pay
      }
    }
    #expect(failure?.message.contains("has not ended after 500 steps") == true)
  }
}

@Suite(.watched) struct `An operation that waits forever` {
  private static func explain(
    _ workflow: @escaping @Sendable (SimulatedEnvironment, AdvancedOperationQueue) throws -> Void
  ) -> String? {
    do {
      try exploreSchedules { simulation in
        try workflow(simulation, AdvancedOperationQueue(environment: simulation.environment))
      }
      return nil
    } catch {
      return "\((error as? ScheduleFailure)?.underlying ?? error)"
    }
  }

  /// A wake-up that is lost when the operation that sends it looks too early.
  @Test func `a schedule fails if an operation waits forever`() throws {
    let text = Self.explain { simulation, queue in
      let isSet = Locked(false)
      let go = ResultOperation(name: "go") { 1 }
      let worker = ResultOperation(name: "worker") { 2 }
      worker.addDependency(go)
      queue.addOperation(ResultOperation(name: "setter") { isSet.withLock { $0 = true } })
      queue.addOperation(
        ResultOperation(name: "starter") { if isSet.withLock({ $0 }) { queue.addOperation(go) } }
      )
      queue.addOperation(worker)
      simulation.run()
    }
    #expect(
      text == """
        Nothing can happen in the simulation any more, and an operation has not finished:
        worker waits for go
          go isn't in a queue
        needed: go has to be added to a queue
        """
    )
  }

  @Test func `a schedule fails if a forever waiting operation blocks another`() throws {
    let text = Self.explain { simulation, queue in
      queue.maxConcurrentOperationCount = 1
      let never = Operation()
      never.name = "never"
      let first = Operation()
      first.name = "first"
      first.addDependency(never)
      let second = Operation()
      second.name = "second"
      second.addDependency(first)
      queue.addOperations([first, second])
      simulation.addStep("nothing") {}
      simulation.run()
    }
    let found = try #require(text)
    #expect(found.contains("2 operations have not finished"))
    #expect(found.contains("first waits for never") && found.contains("second waits for first"))
  }

  @Test func `a schedule fails even if a blocked operation also waits for the test`() throws {
    let text = Self.explain { simulation, queue in
      let held = HeldOperation(name: "held")
      let never = ResultOperation(name: "never") {}
      let work = ResultOperation(name: "work") {}
      work.addDependency(held)
      work.addDependency(never)
      queue.addOperations([held, work])
      simulation.run()
    }
    #expect(try #require(text).contains("never isn't in a queue"))
  }

  enum Hold: CaseIterable {
    case suspendedQueue, noSlots, probe, heldOperation, claimOfHeld, group
    case attempt, round, attemptInGroup, awaitedValue, awaitedBehindProbe, awaitedInSuspendedQueue
    case scope, prerequisite, conditionThatAwaits
  }

  private struct Awaits: OperationCondition {
    let operation: AdvancedOperation
    var name: String { "awaits" }
    func evaluate(for _: AdvancedOperation) async -> OperationConditionResult {
      try? await operation.untilFinished()
      return .satisfied
    }
  }

  private struct Helped: OperationCondition {
    let prerequisite: AdvancedOperation
    var name: String { "helped" }
    func dependency(for operation: AdvancedOperation) -> AdvancedOperation? { prerequisite }
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      .satisfied
    }
  }

  /// The test may let them continue, and looks at the middle of the workflow.
  @Test(arguments: Hold.allCases)
  func `a schedule may leave operations that wait for the test`(hold: Hold) throws {
    let text = Self.explain { simulation, queue in
      let work = ResultOperation(name: "work") { 1 }
      let last = work.then(name: "last") { $0 }
      switch hold {
      case .suspendedQueue: queue.isSuspended = true
      case .noSlots: queue.maxConcurrentOperationCount = 0
      case .probe: work.addCondition(ConditionProbe())
      case .heldOperation:
        let held = HeldOperation(name: "held")
        work.addDependency(held)
        queue.addOperation(held)
      case .claimOfHeld:
        let held = HeldOperation(name: "held")
        held.addClaim(MutuallyExclusive("one"))
        queue.addOperation(held)
        try simulation.run(until: { held.isHeld })
        work.addClaim(MutuallyExclusive("one"))
      case .group:
        work.addDependency(GroupOperation(name: "group") { HeldOperation(name: "held") })
        queue.addOperations(work.dependencies)
      case .attempt:
        work.addDependency(
          RetryOperation(name: "retry", retry: .immediate.attempts(2)) { _ in
            HeldOperation(name: "held")
          }
        )
        queue.addOperations(work.dependencies)
      case .round:
        work.addDependency(
          RepeatOperation(name: "repeat", times: 2) { _ in HeldOperation(name: "held") }
        )
        queue.addOperations(work.dependencies)
      case .attemptInGroup:
        work.addDependency(
          GroupOperation(name: "group") {
            RetryOperation(name: "retry", retry: .immediate.attempts(2)) { _ in
              HeldOperation(name: "held")
            }
          }
        )
        queue.addOperations(work.dependencies)
      case .awaitedValue, .awaitedBehindProbe, .awaitedInSuspendedQueue:
        let awaited = HeldOperation(name: "awaited")
        let other = AdvancedOperationQueue(environment: simulation.environment)
        other.isSuspended = hold == .awaitedInSuspendedQueue
        if hold == .awaitedBehindProbe { awaited.addCondition(ConditionProbe()) }
        other.addOperation(awaited)
        queue.addOperation(ResultOperation(name: "waits") { try await awaited.untilFinished() })
      case .scope:
        queue.addOperation(
          ResultOperation(name: "scope") {
            try await withOperations { scope in scope.add(HeldOperation(name: "held")) }
          }
        )
      case .prerequisite: work.addCondition(Helped(prerequisite: HeldOperation(name: "held")))
      case .conditionThatAwaits:
        let awaited = HeldOperation(name: "awaited")
        queue.addOperation(awaited)
        work.addCondition(Awaits(operation: awaited))
      }
      queue.addOperations([work, last])
      simulation.addStep("nothing") {}
      simulation.run()
    }
    #expect(text == nil)
  }
}
