import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// An operation that is asked again when its claim is free keeps its turn meanwhile.
@Suite struct `The place of an operation that is evaluated again` {
  private struct Wrong: Error { let what: String }

  /// One that is asked again waits, another one behind it, and a third one comes at any time.
  private static func run(
    _ simulation: SimulatedEnvironment,
    limit: Int = -1,
    byHand: Bool = false,
    answer: OperationConditionResult = .satisfied,
    cancels: Bool = false
  ) throws {
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.maxConcurrentOperationCount = limit
    let started = Log<String>()
    func make(_ name: String) -> Work {
      let work = Work(name) { work in
        started.add(name)
        work.finish()
      }
      work.addClaim(MutuallyExclusive("a"))
      return work
    }
    let holder = Work.open("holder")
    holder.addClaim(MutuallyExclusive("a"))
    AdvancedOperationQueue(environment: simulation.environment).addOperation(holder)
    simulation.run()

    let current = Changing(OperationConditionResult.satisfied)
    let waiter = make("waiter")
    waiter.addCondition(Immediate { _ in current.value })
    if byHand {
      waiter.environment = simulation.environment
      waiter.start()
    } else {
      queue.addOperation(waiter)
    }
    simulation.run()
    let follower = make("follower")
    queue.addOperation(follower)
    simulation.run()

    current.value = answer
    let late = make("late")
    simulation.addStep("finish") { holder.finish() }
    simulation.addStep("come") { queue.addOperation(late) }
    if cancels { simulation.addStep("cancel") { waiter.cancel() } }
    simulation.run()

    for work in [follower, late] where work.kind != .succeeded {
      throw Wrong(what: "\(work) didn't run")
    }
    if !waiter.isFinished { throw Wrong(what: "\(waiter) waits for nothing") }
    let expected = waiter.didExecute ? ["waiter", "follower", "late"] : ["follower", "late"]
    // A follower may be passed while its queue has no slot for it.
    let isInOrder = limit < 0 ? started.entries == expected : started.entries.first == expected[0]
    if !isInOrder { throw Wrong(what: "\(started.entries)") }
    if waiter.didExecute != (waiter.kind == .succeeded) { throw Wrong(what: "\(waiter)") }
    if !cancels && waiter.didExecute != answer.isSatisfied { throw Wrong(what: "\(waiter)") }
  }

  @Test(arguments: [-1, 2], [false, true])
  func `an operation that is evaluated again starts before later arrivals`(
    limit: Int,
    byHand: Bool
  ) throws {
    let report = try exploreSchedules { try Self.run($0, limit: limit, byHand: byHand) }
    #expect(report.isComplete)
  }

  @Test(
    arguments: [
      OperationConditionResult.failed(Flaw(1)), .skipped(reason: "nothing to do"),
    ],
    [false, true]
  )
  func `the claim goes to the next operation if the condition isn't satisfied`(
    answer: OperationConditionResult,
    byHand: Bool
  ) throws {
    let report = try exploreSchedules { try Self.run($0, byHand: byHand, answer: answer) }
    #expect(report.isComplete)
  }

  @Test(arguments: [OperationConditionResult.satisfied, .failed(Flaw(1))], [false, true])
  func `the claim goes to the next operation if the first is cancelled during evaluation`(
    answer: OperationConditionResult,
    byHand: Bool
  ) throws {
    let report = try exploreSchedules(depthFirst: Effort.schedules(1_000, nightly: 10_000)) {
      try Self.run($0, byHand: byHand, answer: answer, cancels: true)
    }
    #expect(report.isComplete || !Effort.isNightly)
  }

  @Test
  func `an operation waits for a dependency that its condition adds during reevaluation`() throws {
    let agains = Counter()
    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let holder = Work.open("holder")
      holder.addClaim(MutuallyExclusive("a"))
      queue.addOperation(holder)
      simulation.run()

      let (late, asked) = (Work("late"), Counter())
      let work = Work("work")
      work.addCondition(
        Immediate { operation in
          if asked.add() == 2 { operation.addDependency(late) }
          return .satisfied
        }
      )
      work.addClaim(MutuallyExclusive("a"))
      queue.addOperation(work)
      simulation.addStep("finish") { holder.finish() }
      simulation.run()
      if asked.count == 1 {
        if work.kind != .succeeded { throw Wrong(what: "\(work)") }
        return
      }
      agains.add()
      if work.didExecute { throw Wrong(what: "\(work) didn't wait for \(late)") }
      let next = Work("next")
      next.addClaim(MutuallyExclusive("a", whenBusy: .fail))
      queue.addOperations([next])
      simulation.run()
      if next.kind != .succeeded { throw Wrong(what: "\(work) kept its claim") }
      queue.addOperation(late)
      simulation.run()
      if work.kind != .succeeded { throw Wrong(what: "\(work) waits for nothing") }
    }
    #expect(report.isComplete)
    #expect(agains.count > 1, "once because it waited, and once because the answer was outdated")
  }
}
