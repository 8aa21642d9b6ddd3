import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite(.watched) struct `Conditions are evaluated after the dependencies` {
  @Test func `conditions are evaluated after the last dependency, in many simulations`() {
    for seed in Effort.seeds(1_000) {
      let world = World(seed: seed)
      let early = Counter()
      let asked = Counter()
      let dependencies = (1...3).map { number in
        ResultOperation(name: "d\(number)") { await Task.yield() }
      }
      let work = Work("work")
      for dependency in dependencies { work.addDependency(dependency) }
      for condition in Self.lookingBack(early, asked) { work.addCondition(condition) }
      world.queue.addOperations([work] + dependencies)
      world.simulation.run()
      #expect(early.count == 0, "seed \(seed)")
      // The immediate one again at the start, because the other one has waited.
      #expect(asked.count == 3, "seed \(seed)")
      #expect(work.kind == .succeeded, "seed \(seed)")
    }
  }

  @Test func `conditions are evaluated after the last dependency, on threads`() async throws {
    let queue = AdvancedOperationQueue()
    let early = Counter()
    let asked = Counter()
    let rounds = Effort.rounds(1_000)
    for _ in 0..<rounds {
      let dependencies = (0..<3).map { _ in Work() }
      let work = Work()
      for dependency in dependencies { work.addDependency(dependency) }
      for condition in Self.lookingBack(early, asked) { work.addCondition(condition) }
      queue.addOperations([work] + dependencies)
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(early.count == 0)
    #expect(asked.count == 3 * rounds)
  }

  /// Conditions that count when a dependency has not finished.
  private static func lookingBack(
    _ early: Counter,
    _ asked: Counter
  ) -> [any OperationCondition] {
    let look: @Sendable (AdvancedOperation) -> OperationConditionResult = { operation in
      asked.add()
      if !operation.dependencies.allSatisfy({ $0.isFinished }) { early.add() }
      return .satisfied
    }
    return [Immediate { look($0) }, Asked { look($0) }]
  }

  @Test(arguments: seeds)
  func `all conditions of an operation are evaluated at the same time`(seed: UInt64) {
    let world = World(seed: seed)
    let probes = (0..<3).map { _ in ConditionProbe() }
    let work = Work()
    for probe in probes { work.addCondition(probe) }
    world.run(work)
    #expect(probes.map(\.evaluationCount) == [1, 1, 1])
    #expect(work.state == .evaluatingConditions)
    for probe in probes.reversed() { probe.answer(.satisfied) }
    world.simulation.run()
    #expect(work.kind == .succeeded)
    #expect(probes.map(\.evaluationCount) == [1, 1, 1])
  }

  @Test(arguments: seeds)
  func `conditions are evaluated one after the other with stopAtFirstFailure`(seed: UInt64) {
    let world = World(seed: seed)
    let probes = (0..<3).map { _ in ConditionProbe() }
    let work = Work()
    work.conditionPolicy = .stopAtFirstFailure
    for probe in probes { work.addCondition(probe) }
    world.run(work)
    #expect(probes.map(\.evaluationCount) == [1, 0, 0])
    probes[0].answer(.satisfied)
    world.simulation.run()
    #expect(probes.map(\.evaluationCount) == [1, 1, 0])
    probes[1].answer(.failed(Flaw(2)))
    world.simulation.run()
    #expect(probes.map(\.evaluationCount) == [1, 1, 0])
    #expect(work.kind == .failed)
    #expect(work.flawNumbers == [2])
    #expect(!work.didExecute)
  }

  @Test(arguments: [OperationConditionResult.failed(Flaw(1)), .skipped(reason: "no need")])
  func `stopAtFirstFailure applies to immediate conditions, too`(first: OperationConditionResult) {
    let world = World()
    let asked = Counter()
    let work = Work()
    work.conditionPolicy = .stopAtFirstFailure
    work.addCondition(Immediate { _ in .satisfied })
    work.addCondition(Immediate { _ in first })
    work.addCondition(
      Immediate { _ in
        asked.add()
        return .failed(Flaw(9))
      }
    )
    world.run(work)
    #expect(asked.count == 0)
    #expect(work.flawNumbers == (first.isSatisfied ? [] : flaws(first.errors)))
    #expect(!work.didExecute)
  }

  @Test func `a change of the policy after enqueueing is ignored`() {
    let world = World()
    world.queue.isSuspended = true
    let work = Work()
    work.addCondition(Immediate("a", always: .failed(Flaw(1))))
    work.addCondition(Immediate("b", always: .failed(Flaw(2))))
    world.queue.addOperation(work)
    work.conditionPolicy = .stopAtFirstFailure
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(work.conditionPolicy == .evaluateAll)
    #expect(work.flawNumbers == [1, 2])
  }

  @Test func `immediate conditions need no task`() {
    let world = World()
    let work = Work("work")
    for number in 0..<4 { work.addCondition(Immediate("\(number)")) }
    work.addCondition(NegatedCondition(Immediate(always: .failed(Flaw(1)))))
    world.run(work)
    #expect(work.kind == .succeeded)
    #expect(!world.simulation.log.contains("step: task"))
  }

  @Test func `immediate and asynchronous conditions of an operation are evaluated in a task`() {
    let world = World()
    let work = Work("work")
    work.addCondition(Immediate())
    work.addCondition(Asked { _ in .satisfied })
    world.run(work)
    #expect(world.simulation.log.contains("step: task"))
  }

  @Test(arguments: seeds)
  func `conditions are evaluated without a slot even if the limit is used up`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let holder = Work.open()
    let probe = ConditionProbe()
    let work = Work()
    work.addCondition(Immediate())
    work.addCondition(probe)
    let other = Work()
    world.run(holder)
    world.run(work, other)
    #expect(probe.evaluationCount == 1)
    #expect(holder.isExecuting)
    #expect(!other.didExecute)
    holder.finish()
    world.simulation.run()
    // The one whose condition has not answered takes no slot from the other.
    #expect(other.kind == .succeeded)
    #expect(work.state == .evaluatingConditions)
    probe.answer(.satisfied)
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `a suspended queue evaluates no conditions`(seed: UInt64) {
    let world = World(seed: seed)
    world.queue.isSuspended = true
    let probe = ConditionProbe()
    let work = Work()
    work.addCondition(probe)
    world.run(work)
    #expect(probe.evaluationCount == 0)
    #expect(work.state == .pending)
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(probe.evaluationCount == 1)
  }

  @Test(arguments: seeds)
  func `an operation behind a barrier evaluates no conditions`(seed: UInt64) {
    let world = World(seed: seed)
    let before = Work.open()
    let log = Log<String>()
    let work = Work()
    work.addCondition(
      Asked { _ in
        log.add("asked")
        return .satisfied
      }
    )
    world.queue.addOperation(before)
    world.queue.addBarrierBlock { log.add("barrier") }
    world.run(work)
    #expect(work.state == .pending)
    before.finish()
    world.simulation.run()
    #expect(log.entries == ["barrier", "asked"])
    #expect(work.kind == .succeeded)
  }

  @Test func `a dependency that is added during the evaluation delays the start only`() {
    let world = World()
    let probe = ConditionProbe()
    let late = Work.open()
    let work = Work()
    work.addCondition(probe)
    world.run(work, late)
    work.addDependency(late)
    probe.answer(.satisfied)
    world.simulation.run()
    #expect(!work.didExecute)
    late.finish()
    world.simulation.run()
    #expect(work.kind == .succeeded)
    #expect(probe.evaluationCount == 1)
  }

  @Test func `an operation in a suspended queue waits for a late dependency first`() {
    let world = World()
    world.queue.isSuspended = true
    let late = Work.open()
    let probe = ConditionProbe()
    let work = Work()
    work.addCondition(probe)
    world.queue.addOperations([work, late])
    work.addDependency(late)
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(probe.evaluationCount == 0)
    #expect(work.state == .pending)
    late.finish()
    probe.answer(.satisfied)
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }
}
