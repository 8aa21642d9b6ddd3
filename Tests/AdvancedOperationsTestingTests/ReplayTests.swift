import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

private struct Flaw: Error {}

@Suite struct `A schedule that is replayed` {
  /// So many steps, one of which may fail.
  private static func steps(
    _ count: Int,
    failing: Bool = false
  )
    -> (SimulatedEnvironment) throws -> Void
  {
    { simulation in
      for number in 0..<count { simulation.addStep("\(number)") {} }
      simulation.run()
      if failing { throw Flaw() }
    }
  }

  private static func failure(
    _ schedule: String,
    _ count: Int,
    failing: Bool = false
  ) throws
    -> ScheduleFailure
  {
    let failure = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules(replaying: schedule, of: steps(count, failing: failing))
    }
    return try #require(failure)
  }

  @Test func `a replay succeeds if all of its choices can be made`() throws {
    for schedule in ["1;", "1;0=2", "1;0=2,1=1", "1;1=1"] {
      try exploreSchedules(replaying: schedule, of: Self.steps(3))
    }
  }

  @Test func `a replay fails if it chooses a step that doesn't exist`() throws {
    let failure = try Self.failure("1;1=9", 3)
    #expect(
      "\(failure.underlying)".hasPrefix(
        "The schedule doesn't fit this workflow, or not any more: “1=9” takes number 10 of the steps "
          + "that could be next, and there were only 2. "
      )
    )
  }

  @Test func `a replay fails if it makes more choices than there are`() throws {
    let text = "\(try Self.failure("1;1=1,7=1,500=1", 3).underlying)"
    #expect(text.contains(": “7=1” is choice number 8, and only 2 had to be made. "))
    let none = "\(try Self.failure("1;0=1", 1).underlying)"
    #expect(none.contains(": “0=1” is choice number 1, and there was none. "))
  }

  @Test func `a replay fails if its schedule was found with more operations`() throws {
    func workflow(_ count: Int) -> (SimulatedEnvironment) throws -> Void {
      { simulation in
        let order = Locked<[Int]>([])
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        for number in 0..<count {
          queue.addOperation(BlockOperation { order.withLock { $0.append(number) } })
        }
        simulation.run()
        if count > 1, order.withLock({ $0.first }) == count - 1 { throw Flaw() }
      }
    }
    let found = #expect(throws: ScheduleFailure.self) { try exploreSchedules(of: workflow(3)) }
    let schedule = try #require(found).schedule
    #expect(throws: ScheduleFailure.self) {
      try exploreSchedules(replaying: schedule, of: workflow(3))
    }
    let stale = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules(replaying: schedule, of: workflow(1))
    }
    #expect("\(try #require(stale).underlying)".hasPrefix("The schedule doesn't fit"))
  }

  @Test func `a replay reports both the workflow's own error and the misfit`() throws {
    let fits = try Self.failure("1;1=1", 3, failing: true)
    #expect(fits.underlying is Flaw)
    #expect(!fits.description.contains("doesn't fit"))
    let failure = try Self.failure("1;1=9", 3, failing: true)
    #expect(failure.underlying is Flaw)
    #expect(failure.description.contains("doesn't fit this workflow, or not any more: “1=9”"))
  }

  @Test func `a replayed schedule is number 1 in its failure`() throws {
    let failure = try Self.failure("1;1=1", 3, failing: true)
    #expect(failure.scheduleCount == 1)
    #expect(failure.description.contains(": schedule 1 fails: Flaw()"))
    let runs = Locked(0)
    let third = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules { simulation in
        try Self.steps(3)(simulation)
        let count = runs.withLock { runs in
          runs += 1
          return runs
        }
        if count >= 3 { throw Flaw() }
      }
    }
    #expect(try #require(third).scheduleCount == 3)
    #expect(try #require(third).description.contains(": schedule 3 fails: Flaw()"))
  }

  @Test func `a simulation reports whether a replayed schedule fits`() throws {
    let fitting = try #require(SimulatedEnvironment(replaying: "1;1=1"))
    #expect(fitting.replayMismatch != nil)
    try Self.steps(3)(fitting)
    #expect(fitting.replayMismatch == nil)
    let unfit = try #require(SimulatedEnvironment(replaying: "1;0=3,1=1,2=1"))
    try Self.steps(3)(unfit)
    #expect(
      unfit.replayMismatch
        == "“0=3” takes number 4 of the steps that could be next, and there were only 3; "
        + "“2=1” is choice number 3, and only 2 had to be made"
    )
    let seeded = SimulatedEnvironment(seed: 1)
    try Self.steps(3)(seeded)
    #expect(seeded.replayMismatch == nil)
  }
}
