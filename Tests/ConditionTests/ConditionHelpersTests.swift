import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// Operations that conditions bring along with `dependency(for:)`.
@Suite struct `Helpers of conditions` {
  @Test(arguments: seeds)
  func `are asked for once, after the operation's own dependencies`(seed: UInt64) {
    let world = World(seed: seed)
    let log = Log<String>()
    let dependency = Work("dependency") {
      log.add("dependency")
      $0.finish()
    }
    let work = Work("work") {
      log.add("work")
      $0.finish()
    }
    work.addDependency(dependency)
    work.addCondition(
      Asked { operation in
        log.add("asked for")
        return Work("helper") {
          log.add("helper")
          $0.finish()
        }
      } answer: { _ in
        log.add("condition")
        return .satisfied
      }
    )
    world.run(work, dependency)
    #expect(log.entries == ["dependency", "asked for", "helper", "condition", "work"])
  }

  @Test func `are no members of the dependencies`() {
    let world = World()
    let helper = Work.open("helper")
    let dependency = Work("dependency")
    let work = Work()
    work.addDependency(dependency)
    work.addCondition(Asked { _ in helper })
    world.run(work, dependency)
    #expect(helper.isExecuting)
    #expect(work.dependencies == [dependency])
    #expect(work.state == .evaluatingConditions)
    helper.finish()
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: [Kind.failed, .cancelled, .skipped, .succeeded])
  func `the condition is asked whatever became of them`(kind: Kind) {
    let world = World()
    let helper = kind == .failed ? Work.failing() : Work()
    if kind == .cancelled { helper.cancel() }
    if kind == .skipped { helper.addCondition(Immediate(always: .skipped(reason: "no need"))) }
    let work = Work()
    let asked = Counter()
    work.addCondition(
      Asked(helper: { _ in helper }) { _ in
        asked.add()
        return .satisfied
      }
    )
    world.run(work)
    #expect(helper.kind == kind)
    #expect(asked.count == 1)
    #expect(work.kind == .succeeded)
    #expect(work.errors.isEmpty)
  }

  @Test func `are cancelled with the operation, with its reason`() {
    let world = World()
    let helper = Work.open("helper")
    let work = Work()
    work.addCondition(Asked { _ in helper })
    world.run(work)
    work.cancel(withError: Flaw(3))
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(helper.kind == .cancelled)
    #expect(helper.flawNumbers == [3])
  }

  @Test func `one that was in a queue before is waited for and not cancelled`() {
    let world = World()
    let helper = Work.open("helper")
    world.run(helper)
    let work = Work()
    let asked = Counter()
    work.addCondition(
      Asked(helper: { _ in helper }) { _ in
        asked.add()
        return .satisfied
      }
    )
    world.run(work)
    #expect(asked.count == 0)
    work.cancel()
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(helper.isExecuting)
    helper.finish()
    world.simulation.run()
    #expect(helper.kind == .succeeded)
    #expect(asked.count == 0)
  }

  @Test(arguments: seeds)
  func `two conditions may bring the same one`(seed: UInt64) {
    let world = World(seed: seed)
    let helper = Work("helper")
    let work = Work()
    for _ in 0..<2 { work.addCondition(Asked { _ in helper }) }
    world.run(work)
    #expect(helper.executions.count == 1)
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `two operations may bring the same one`(seed: UInt64) {
    let world = World(seed: seed)
    let helper = Work("helper")
    let works = (0..<4).map { _ in Work() }
    for work in works {
      work.addCondition(Asked { _ in helper })
      world.queue.addOperation(work)
    }
    world.simulation.run()
    #expect(helper.executions.count == 1)
    #expect(works.allSatisfy { $0.kind == .succeeded })
  }

  @Test(.watched) func `two operations in two queues may bring the same one at the same time`()
    async throws
  {
    let queues = [AdvancedOperationQueue(), AdvancedOperationQueue()]
    for _ in 0..<Effort.rounds(1_000) {
      let helper = Work("helper")
      let works = (0..<2).map { _ in Work() }
      for work in works { work.addCondition(Asked { _ in helper }) }
      await together(
        { queues[0].addOperation(works[0]) },
        { queues[1].addOperation(works[1]) }
      )
      for work in works { try await work.untilFinished() }
      #expect(helper.executions.count == 1)
    }
  }

  @Test func `take a slot of a full queue that the operation doesn't hold`() {
    let world = World(limit: 1)
    let helper = Work("helper")
    let work = Work()
    work.addCondition(Asked { _ in helper })
    world.run(work)
    #expect(work.kind == .succeeded)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `run before a barrier that was added behind the operation`() {
    let world = World()
    let log = Log<String>()
    let dependency = Work.open()
    let work = Work {
      log.add("work")
      $0.finish()
    }
    work.addDependency(dependency)
    work.addCondition(
      Asked { _ in
        Work {
          log.add("helper")
          $0.finish()
        }
      }
    )
    world.queue.addOperations([dependency, work])
    world.queue.addBarrierBlock { log.add("barrier") }
    dependency.finishWhenExecuting(in: world)
    #expect(log.entries == ["helper", "work", "barrier"])
  }

  @Test func `a helper of an operation that was started by hand runs too`() {
    let world = World()
    let helper = Work("helper")
    let work = Work()
    work.environment = world.simulation.environment
    work.addCondition(Asked { _ in helper })
    work.start()
    world.simulation.run()
    #expect(helper.kind == .succeeded)
    #expect(work.kind == .succeeded)
  }

  // MARK: Of any class

  /// Conditions whose helpers are of different types, each inferred.
  private struct Plain: OperationCondition {
    let helper: BlockOperation?
    func dependency(for operation: AdvancedOperation) -> Operation? { helper }
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      helper?.isFinished == false ? .failed(Flaw(1)) : .satisfied
    }
  }
  private struct Block: OperationCondition {
    let helper: BlockOperation
    func dependency(for operation: AdvancedOperation) -> BlockOperation? { helper }
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      helper.isFinished ? .satisfied : .failed(Flaw(1))
    }
  }
  private struct Valued<Value: Sendable>: OperationCondition {
    let helper: ResultOperation<Value>
    func dependency(for operation: AdvancedOperation) -> ResultOperation<Value>? { helper }
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      helper.isFinished ? .satisfied : .failed(Flaw(1))
    }
  }
  private struct Wrapped<Inner: OperationCondition>: OperationCondition {
    let inner: Inner
    func dependency(for operation: AdvancedOperation) -> Inner.Helper? {
      inner.dependency(for: operation)
    }
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      await inner.evaluate(for: operation)
    }
  }
  private struct Erased: OperationCondition {
    let inner: any OperationCondition
    func dependency(for operation: AdvancedOperation) -> Operation? {
      inner.dependency(for: operation)
    }
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      await inner.evaluate(for: operation)
    }
  }

  @Test(arguments: [false, true])
  func `may be operations of any class`(isCombined: Bool) {
    let world = World()
    let runs = Counter()
    let blocks = (0..<4).map { _ in BlockOperation { runs.add() } }
    let number = ResultOperation(name: "number") { runs.add() }
    let conditions: [any OperationCondition] = [
      Plain(helper: blocks[0]), Block(helper: blocks[1]), Valued(helper: number),
      Wrapped(inner: Block(helper: blocks[2])), Erased(inner: Block(helper: blocks[3])),
      Plain(helper: nil),
    ]
    let work = Work()
    if isCombined {
      work.addCondition(AllOf(conditions))
    } else {
      for condition in conditions { work.addCondition(condition) }
    }
    world.run(work)
    #expect(runs.count == 5)
    #expect(work.kind == .succeeded)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `a plain one is cancelled with the operation, and waited for if it runs elsewhere`() {
    let world = World()
    world.queue.isSuspended = true
    let gate = Work.open("gate")
    let own = BlockOperation {}
    let other = BlockOperation {}
    for helper in [own, other] { helper.addDependency(gate) }
    let works = [own, other].map { helper in
      let work = Work()
      work.addCondition(Block(helper: helper))
      return work
    }
    world.queue.addOperations([gate, other] + works)
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(works.allSatisfy { $0.state == .evaluatingConditions })
    for work in works { work.cancel() }
    world.simulation.run()
    #expect(own.isCancelled && own.isFinished)
    #expect(!other.isCancelled && !other.isFinished)
    gate.finish()
    world.simulation.run()
    #expect(other.isFinished)
  }

  @Test func `a plain one that was cancelled is named with the condition that isn't satisfied`() {
    let world = World()
    let helper = BlockOperation {}
    helper.name = "sign-in"
    helper.cancel()
    struct Refused: OperationCondition {
      let helper: Operation
      func dependency(for operation: AdvancedOperation) -> Operation? { helper }
      func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
        .failed(Flaw(1))
      }
    }
    let work = Work()
    work.addCondition(Refused(helper: helper))
    world.run(work)
    #expect(work.flawNumbers == [1])
    let text = work.outcome?.failure?.description ?? ""
    #expect(text.contains("sign-in"))
  }

  // MARK: Slots

  @Test(arguments: [1, 4])
  func `take no slots, so that others run while they wait`(limit: Int) {
    let world = World(limit: limit)
    let works = (0..<4).map { _ in Work() }
    let helpers = works.map { _ in Work.open("helper") }
    for (work, helper) in zip(works, helpers) { work.addCondition(Asked { _ in helper }) }
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(helpers.allSatisfy { $0.isExecuting })
    let other = Work("other")
    world.run(other)
    #expect(other.kind == .succeeded)
    for helper in helpers { helper.finish() }
    world.simulation.run()
    #expect(works.allSatisfy { $0.kind == .succeeded })
    #expect(world.queue.operationCount == 0)
  }

  @Test func `execute although the limit is used up, which keeps the operation itself`() {
    let world = World(limit: 1)
    let holder = Work.open("holder")
    let (helper, plain) = (Work("helper"), BlockOperation {})
    let work = Work()
    work.addCondition(Asked { _ in helper })
    work.addCondition(Block(helper: plain))
    world.run(holder, work)
    #expect(helper.kind == .succeeded && plain.isFinished)
    #expect(work.state == .ready)
    holder.finish()
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }

  @Test func `hold their claims all the same, and pause without a slot`() {
    let world = World(limit: 1)
    let clock = world.simulation.environment.clock
    let attempts = Counter()
    let helper = ResultOperation(
      name: "helper",
      retry: .constant(.seconds(5)).attempts(2).releasingSlot()
    ) {
      if attempts.add() == 1 { throw Flaw(1) }
    }
    helper.addClaim(MutuallyExclusive("session"))
    let other = ResultOperation(name: "other") { try await clock.sleep(for: .seconds(7)) }
    other.addClaim(MutuallyExclusive("session"))
    let work = Work()
    work.addCondition(Asked { _ in helper })
    world.run(work)
    world.run(other)
    #expect(work.kind == .succeeded && other.kind == .succeeded)
    #expect(attempts.count == 2)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `don't start in a queue with no slots or that is suspended, nor before a barrier`() {
    let world = World(limit: 1)
    let (first, second) = (Work.open("first"), Work.open("second"))
    let helper = Work("helper")
    helper.addDependency(second)
    let work = Work()
    work.addCondition(Asked { _ in helper })
    world.makeQueue(limit: 2).addOperations([first, second])
    world.run(work)
    #expect(work.state == .evaluatingConditions)
    world.queue.maxConcurrentOperationCount = 0
    second.finish()
    world.simulation.run()
    #expect(helper.state == .ready)
    #expect(kinds(helper).contains { if case .limit = $0 { true } else { false } })
    world.queue.isSuspended = true
    world.queue.maxConcurrentOperationCount = 1
    world.simulation.run()
    #expect(helper.state == .ready)
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }

  @Test(.heavy) func `that need other operations of the queue end under every schedule`() throws {
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(1_000),
      random: Effort.drawn(200)
    ) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      queue.maxConcurrentOperationCount = 1
      let works = (0..<2).map { Work("work \($0)") }
      let needed = Work("needed")
      for work in works {
        work.addCondition(
          Asked { _ in
            let helper = Work("helper of \(work.label)")
            helper.addDependency(needed)
            return helper
          }
        )
      }
      queue.addOperations(works + [needed])
      simulation.addStep("cancel") { works[1].cancel() }
      simulation.run()
      try #require(works[0].kind == .succeeded && works[1].isFinished)
      try #require(queue.operationCount == 0)
    }
    #expect(report.scheduleCount > 10)
  }

  // MARK: Shared

  @Test(arguments: [false, true])
  func `that several operations share are cancelled with the last of them`(isCombined: Bool) {
    let world = World()
    let helper = Work.open("helper")
    let works = (0..<3).map { _ in Work() }
    for work in works {
      let condition = Asked { _ in helper }
      if isCombined {
        work.addCondition(condition && Asked { _ in Work("own") })
      } else {
        work.addCondition(condition)
      }
    }
    world.queue.addOperations(works)
    world.simulation.run()
    for work in works.dropLast() {
      work.cancel()
      world.simulation.run()
      #expect(work.kind == .cancelled)
      #expect(helper.isExecuting)
    }
    works[2].cancel(withError: Flaw(2))
    world.simulation.run()
    #expect(helper.kind == .cancelled)
    #expect(helper.flawNumbers == [2])
  }

  @Test func `that are brought twice by one operation are cancelled with it`() {
    let world = World()
    let helper = Work.open("helper")
    let work = Work()
    for _ in 0..<2 { work.addCondition(Asked { _ in helper }) }
    world.run(work)
    work.cancel()
    world.simulation.run()
    #expect(helper.kind == .cancelled)
  }
}

extension Work {
  fileprivate func finishWhenExecuting(in world: World) {
    world.simulation.run()
    finish()
    world.simulation.run()
  }

  @Test func `that wait for one another are cancelled together with their operation`() {
    let world = World()
    let first = Work.open("first")
    let between = Work.open("between")
    let last = Work("last")
    last.addDependency(first)
    let helpers = [first, between, last]
    let work = Work("work")
    for helper in helpers { work.addCondition(Asked { _ in helper }) }
    world.run(work)
    #expect(first.isExecuting && !last.isExecuting)
    // All that can happen happens while one of them is told of its cancel.
    between.onCancel { _, _ in world.simulation.run() }
    work.cancel()
    world.simulation.run()
    #expect(last.kind == .cancelled)
    #expect(!last.didExecute)
  }
}
