import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

private struct Flaw: Error {}

@Suite struct `A step at any time` {
  /// A chain of two that sleep for a second each; returns when and in which state the second one was
  /// cancelled, and how it ended.
  private static func chain(
    _ simulation: SimulatedEnvironment,
    atAnyTime: Bool = true
  ) throws -> String {
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let clock = simulation.environment.clock
    let first = ResultOperation(name: "first") { try await clock.sleep(for: .seconds(1)) }
    let second = first.then(name: "second") { try await clock.sleep(for: .seconds(1)) }
    let moment = Locked("")
    queue.addOperations([first, second])
    simulation.addStep("cancel", atAnyTime: atAnyTime) {
      let text = "\(clock.now), \(second.state)"
      moment.withLock { $0 = text }
      second.cancel()
    }
    simulation.run()
    try #require(second.isFinished && queue.operationCount == 0)
    return "\(moment.withLock { $0 }), \(second.outcome?.kind.rawValue ?? "")"
  }

  private static let moments: Set = [
    "0.0 seconds, pending, cancelled", "1.0 seconds, pending, cancelled",
    "1.0 seconds, ready, cancelled", "1.0 seconds, executing, cancelled",
    "2.0 seconds, executing, cancelled", "2.0 seconds, finished, succeeded",
  ]

  @Test func `an exploration takes a step at any time before, during and after a sleep`() throws {
    var moments: Set<String> = []
    let report = try exploreSchedules { simulation in moments.insert(try Self.chain(simulation)) }
    #expect(report.isComplete)
    #expect(moments == Self.moments)
    print("a chain of two with a cancel at any time: \(report)")
    // One more choice at each second.
    #expect(report.scheduleCount <= 30)
  }

  @Test func `an ordinary step is taken before any time passes`() throws {
    var moments: Set<String> = []
    let report = try exploreSchedules { simulation in
      moments.insert(try Self.chain(simulation, atAnyTime: false))
    }
    #expect(report.isComplete)
    #expect(moments == ["0.0 seconds, pending, cancelled"])
  }

  @Test func `a step at any time is taken at several moments by chance`() throws {
    var moments: Set<String> = []
    for seed in UInt64(1)...300 {
      moments.insert(try Self.chain(SimulatedEnvironment(seed: seed)))
    }
    let some: Set = ["0.0 seconds, pending, cancelled", "1.0 seconds, executing, cancelled"]
    #expect(moments.isSuperset(of: some) && moments.isSubset(of: Self.moments))
    var drawn: Set<String> = []
    try exploreSchedules(depthFirst: 0, randomSchedules: 600) { simulation in
      drawn.insert(try Self.chain(simulation))
    }
    let late: Set = ["1.0 seconds, ready, cancelled", "2.0 seconds, finished, succeeded"]
    #expect(drawn.isSuperset(of: some.union(late)) && drawn.isSubset(of: Self.moments))
  }

  @Test func `a harmful step at any time is found, shortened and replayed`() throws {
    func workflow(_ simulation: SimulatedEnvironment) throws {
      if try Self.chain(simulation) == "1.0 seconds, executing, cancelled" { throw Flaw() }
    }
    let thrown = #expect(throws: ScheduleFailure.self) { try exploreSchedules(of: workflow) }
    let failure = try #require(thrown)
    #expect(failure.underlying is Flaw)
    #expect(failure.log.contains("[0.0 seconds] time moves on (2 of 2)\n"))
    #expect(failure.log.contains("[1.0 seconds] step: cancel"))
    let replayed = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules(replaying: failure.schedule, of: workflow)
    }
    #expect(try #require(replayed).log == failure.log)
    let simulation = try #require(SimulatedEnvironment(replaying: failure.schedule))
    #expect(throws: Flaw.self) { try workflow(simulation) }
    #expect(simulation.replayMismatch == nil)
  }

  @Test func `a step at any time adds one choice for each due time`() throws {
    let counts = try (1...4).map { count in
      try exploreSchedules { simulation in
        let clock = simulation.environment.clock
        let work = ResultOperation {
          for _ in 0..<count { try? await clock.sleep(for: .seconds(1)) }
        }
        AdvancedOperationQueue(environment: simulation.environment).addOperation(work)
        simulation.addStep("look", atAnyTime: true) {}
        simulation.run()
      }.scheduleCount
    }
    print("sleeps and a step at any time: \(counts)")
    #expect(counts[1] - counts[0] == counts[2] - counts[1])
    #expect(counts[1] - counts[0] == counts[3] - counts[2])
  }

  /// What happens after a time doesn't follow from the order of steps before it.
  private static func noticing(_ simulation: SimulatedEnvironment) -> [String] {
    let order = Locked<[String]>([])
    let clock = simulation.environment.clock
    let note: @Sendable (String) -> Void = { name in
      let line = "\(name) at \(clock.now)"
      order.withLock { $0.append(line) }
    }
    for number in 0..<2 {
      simulation.addStep("any \(number)", atAnyTime: true) { note("any \(number)") }
    }
    for second in 1...2 {
      _ = clock.schedule(at: .seconds(second)) {
        note("timer")
        for name in ["a", "b"] { simulation.addStep(name) { note(name) } }
      }
    }
    simulation.run()
    return order.withLock { $0 }
  }

  @Test func `pruning loses no outcome of steps at any time`() async throws {
    let (whole, all, pruned, found) = try await offPool {
      var (all, found): (Set<[String]>, Set<[String]>) = ([], [])
      let whole = try exploreSchedulesUnpruned(depthFirst: 60_000) { simulation in
        all.insert(Self.noticing(simulation))
      }
      let pruned = try exploreSchedules { simulation in
        found.insert(Self.noticing(simulation))
      }
      return (whole, all, pruned, found)
    }
    print("two steps at any time: \(whole), \(pruned), \(all.count) outcomes")
    #expect(whole.isComplete && pruned.isComplete)
    let isSame = found == all
    #expect(isSame, "\(found.count) of \(all.count) outcomes")
  }

  @Test func `a step at any time ends an endless poll in every kind of schedule`() throws {
    func poll(_ simulation: SimulatedEnvironment) throws {
      let clock = simulation.environment.clock
      let poll = ResultOperation(name: "poll") {
        while true { try await clock.sleep(for: .seconds(1)) }
      }
      AdvancedOperationQueue(environment: simulation.environment).addOperation(poll)
      simulation.addStep("cancel", atAnyTime: true) { poll.cancel() }
      simulation.run()
      try #require(poll.isFinished)
    }
    for seed in Effort.seeds(100) { try poll(SimulatedEnvironment(seed: seed)) }
    let report = try exploreSchedules(depthFirst: 50, randomSchedules: 200, of: poll)
    #expect(!report.isComplete)
    try exploreSchedules(replaying: "1;", of: poll)
  }

  @Test func `a step at any time may remain pending for the next run`() throws {
    var times: Set<Duration> = []
    let report = try exploreSchedules { simulation in
      let taken = Locked<Duration?>(nil)
      simulation.addStep("look", atAnyTime: true) {
        let now = simulation.now
        taken.withLock { $0 = now }
      }
      simulation.advance(by: .seconds(1))
      try #require(simulation.now == .seconds(1))
      simulation.advance(by: .seconds(1))
      try #require(simulation.now == .seconds(2))
      simulation.run()
      times.insert(try #require(taken.withLock { $0 }))
    }
    #expect(report.isComplete)
    #expect(times == [.zero, .seconds(1), .seconds(2)])
  }

  @Test func `the step function takes a step at any time`() {
    let simulation = SimulatedEnvironment(seed: 1)
    simulation.addStep("look", atAnyTime: true) {}
    #expect(simulation.pending == ["look"])
    #expect(simulation.step())
    #expect(!simulation.step())
  }
}
