import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// Operations that conditions bring along with `dependency(for:)`.
@Suite struct `Prerequisites of conditions` {
  @Test(arguments: seeds)
  func `a prerequisite is requested once after the operation's own dependencies`(seed: UInt64) {
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
        return Work("prerequisite") {
          log.add("prerequisite")
          $0.finish()
        }
      } answer: { _ in
        log.add("condition")
        return .satisfied
      }
    )
    world.run(work, dependency)
    #expect(log.entries == ["dependency", "asked for", "prerequisite", "condition", "work"])
  }

  @Test func `a prerequisite isn't one of the operation's dependencies`() {
    let world = World()
    let prerequisite = Work.open("prerequisite")
    let dependency = Work("dependency")
    let work = Work()
    work.addDependency(dependency)
    work.addCondition(Asked { _ in prerequisite })
    world.run(work, dependency)
    #expect(prerequisite.isExecuting)
    #expect(work.dependencies == [dependency])
    #expect(work.state == .evaluatingConditions)
    prerequisite.finish()
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: [Kind.failed, .cancelled, .skipped, .succeeded])
  func `a condition is evaluated whatever its prerequisite's outcome is`(kind: Kind) {
    let world = World()
    let prerequisite = kind == .failed ? Work.failing() : Work()
    if kind == .cancelled { prerequisite.cancel() }
    if kind == .skipped {
      prerequisite.addCondition(Immediate(always: .skipped(reason: "no need")))
    }
    let work = Work()
    let asked = Counter()
    work.addCondition(
      Asked(prerequisite: { _ in prerequisite }) { _ in
        asked.add()
        return .satisfied
      }
    )
    world.run(work)
    #expect(prerequisite.kind == kind)
    #expect(asked.count == 1)
    #expect(work.kind == .succeeded)
    #expect(work.errors.isEmpty)
  }

  @Test func `a prerequisite is cancelled with the operation and its reason`() {
    let world = World()
    let prerequisite = Work.open("prerequisite")
    let work = Work()
    work.addCondition(Asked { _ in prerequisite })
    world.run(work)
    work.cancel(withError: Flaw(3))
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(prerequisite.kind == .cancelled)
    #expect(prerequisite.flawNumbers == [3])
  }

  @Test func `a prerequisite from a queue is awaited and not cancelled with the operation`() {
    let world = World()
    let prerequisite = Work.open("prerequisite")
    world.run(prerequisite)
    let work = Work()
    let asked = Counter()
    work.addCondition(
      Asked(prerequisite: { _ in prerequisite }) { _ in
        asked.add()
        return .satisfied
      }
    )
    world.run(work)
    #expect(asked.count == 0)
    work.cancel()
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(prerequisite.isExecuting)
    prerequisite.finish()
    world.simulation.run()
    #expect(prerequisite.kind == .succeeded)
    #expect(asked.count == 0)
  }

  @Test(arguments: seeds)
  func `two conditions may return the same prerequisite`(seed: UInt64) {
    let world = World(seed: seed)
    let prerequisite = Work("prerequisite")
    let work = Work()
    for _ in 0..<2 { work.addCondition(Asked { _ in prerequisite }) }
    world.run(work)
    #expect(prerequisite.executions.count == 1)
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `two operations may share the same prerequisite`(seed: UInt64) {
    let world = World(seed: seed)
    let prerequisite = Work("prerequisite")
    let works = (0..<4).map { _ in Work() }
    for work in works {
      work.addCondition(Asked { _ in prerequisite })
      world.queue.addOperation(work)
    }
    world.simulation.run()
    #expect(prerequisite.executions.count == 1)
    #expect(works.allSatisfy { $0.kind == .succeeded })
  }

  @Test(.watched) func `two operations in two queues may share a prerequisite concurrently`()
    async throws
  {
    let queues = [AdvancedOperationQueue(), AdvancedOperationQueue()]
    for _ in 0..<Effort.rounds(1_000) {
      let prerequisite = Work("prerequisite")
      let works = (0..<2).map { _ in Work() }
      for work in works { work.addCondition(Asked { _ in prerequisite }) }
      await together(
        { queues[0].addOperation(works[0]) },
        { queues[1].addOperation(works[1]) }
      )
      for work in works { try await work.untilFinished() }
      #expect(prerequisite.executions.count == 1)
    }
  }

  @Test func `a prerequisite takes a slot that the waiting operation doesn't hold`() {
    let world = World(limit: 1)
    let prerequisite = Work("prerequisite")
    let work = Work()
    work.addCondition(Asked { _ in prerequisite })
    world.run(work)
    #expect(work.kind == .succeeded)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `a prerequisite runs before a barrier that was added after the operation`() {
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
          log.add("prerequisite")
          $0.finish()
        }
      }
    )
    world.queue.addOperations([dependency, work])
    world.queue.addBarrierBlock { log.add("barrier") }
    dependency.finishWhenExecuting(in: world)
    #expect(log.entries == ["prerequisite", "work", "barrier"])
  }

  @Test func `a prerequisite of a manually started operation runs too`() {
    let world = World()
    let prerequisite = Work("prerequisite")
    let work = Work()
    work.environment = world.simulation.environment
    work.addCondition(Asked { _ in prerequisite })
    work.start()
    world.simulation.run()
    #expect(prerequisite.kind == .succeeded)
    #expect(work.kind == .succeeded)
  }

  // MARK: Of any class

  /// Conditions whose prerequisites are of different types, each inferred.
  private struct Plain: OperationCondition {
    let prerequisite: BlockOperation?
    func dependency(for operation: AdvancedOperation) -> Operation? { prerequisite }
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      prerequisite?.isFinished == false ? .failed(Flaw(1)) : .satisfied
    }
  }
  private struct Block: OperationCondition {
    let prerequisite: BlockOperation
    func dependency(for operation: AdvancedOperation) -> BlockOperation? { prerequisite }
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      prerequisite.isFinished ? .satisfied : .failed(Flaw(1))
    }
  }
  private struct Valued<Value: Sendable>: OperationCondition {
    let prerequisite: ResultOperation<Value>
    func dependency(for operation: AdvancedOperation) -> ResultOperation<Value>? { prerequisite }
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      prerequisite.isFinished ? .satisfied : .failed(Flaw(1))
    }
  }
  private struct Wrapped<Inner: OperationCondition>: OperationCondition {
    let inner: Inner
    func dependency(for operation: AdvancedOperation) -> Inner.Prerequisite? {
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
  func `a prerequisite may be an operation of any class`(isCombined: Bool) {
    let world = World()
    let runs = Counter()
    let blocks = (0..<4).map { _ in BlockOperation { runs.add() } }
    let number = ResultOperation(name: "number") { runs.add() }
    let conditions: [any OperationCondition] = [
      Plain(prerequisite: blocks[0]), Block(prerequisite: blocks[1]), Valued(prerequisite: number),
      Wrapped(inner: Block(prerequisite: blocks[2])), Erased(inner: Block(prerequisite: blocks[3])),
      Plain(prerequisite: nil),
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

  @Test func `a plain prerequisite is cancelled with the operation unless it runs elsewhere`() {
    let world = World()
    world.queue.isSuspended = true
    let gate = Work.open("gate")
    let own = BlockOperation {}
    let other = BlockOperation {}
    for prerequisite in [own, other] { prerequisite.addDependency(gate) }
    let works = [own, other].map { prerequisite in
      let work = Work()
      work.addCondition(Block(prerequisite: prerequisite))
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

  @Test func `an unsatisfied condition's error names its cancelled plain prerequisite`() {
    let world = World()
    let prerequisite = BlockOperation {}
    prerequisite.name = "sign-in"
    prerequisite.cancel()
    struct Refused: OperationCondition {
      let prerequisite: Operation
      func dependency(for operation: AdvancedOperation) -> Operation? { prerequisite }
      func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
        .failed(Flaw(1))
      }
    }
    let work = Work()
    work.addCondition(Refused(prerequisite: prerequisite))
    world.run(work)
    #expect(work.flawNumbers == [1])
    let text = work.outcome?.failure?.description ?? ""
    #expect(text.contains("sign-in"))
  }

  // MARK: Slots

  @Test(arguments: [1, 4])
  func `waiting prerequisites take no slots and let other operations run`(limit: Int) {
    let world = World(limit: limit)
    let works = (0..<4).map { _ in Work() }
    let prerequisites = works.map { _ in Work.open("prerequisite") }
    for (work, prerequisite) in zip(works, prerequisites) {
      work.addCondition(Asked { _ in prerequisite })
    }
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(prerequisites.allSatisfy { $0.isExecuting })
    let other = Work("other")
    world.run(other)
    #expect(other.kind == .succeeded)
    for prerequisite in prerequisites { prerequisite.finish() }
    world.simulation.run()
    #expect(works.allSatisfy { $0.kind == .succeeded })
    #expect(world.queue.operationCount == 0)
  }

  @Test func `a prerequisite executes although the limit keeps the operation itself waiting`() {
    let world = World(limit: 1)
    let holder = Work.open("holder")
    let (prerequisite, plain) = (Work("prerequisite"), BlockOperation {})
    let work = Work()
    work.addCondition(Asked { _ in prerequisite })
    work.addCondition(Block(prerequisite: plain))
    world.run(holder, work)
    #expect(prerequisite.kind == .succeeded && plain.isFinished)
    #expect(work.state == .ready)
    holder.finish()
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }

  @Test func `a prerequisite holds its claims and pauses without a slot`() {
    let world = World(limit: 1)
    let clock = world.simulation.environment.clock
    let attempts = Counter()
    let prerequisite = ResultOperation(
      name: "prerequisite",
      retry: .constant(.seconds(5)).attempts(2).releasingSlot()
    ) {
      if attempts.add() == 1 { throw Flaw(1) }
    }
    prerequisite.addClaim(MutuallyExclusive("session"))
    let other = ResultOperation(name: "other") { try await clock.sleep(for: .seconds(7)) }
    other.addClaim(MutuallyExclusive("session"))
    let work = Work()
    work.addCondition(Asked { _ in prerequisite })
    world.run(work)
    world.run(other)
    #expect(work.kind == .succeeded && other.kind == .succeeded)
    #expect(attempts.count == 2)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `a prerequisite doesn't start in a suspended queue or in a queue with limit zero`() {
    let world = World(limit: 1)
    let (first, second) = (Work.open("first"), Work.open("second"))
    let prerequisite = Work("prerequisite")
    prerequisite.addDependency(second)
    let work = Work()
    work.addCondition(Asked { _ in prerequisite })
    world.makeQueue(limit: 2).addOperations([first, second])
    world.run(work)
    #expect(work.state == .evaluatingConditions)
    world.queue.maxConcurrentOperationCount = 0
    second.finish()
    world.simulation.run()
    #expect(prerequisite.state == .ready)
    #expect(kinds(prerequisite).contains { if case .limit = $0 { true } else { false } })
    world.queue.isSuspended = true
    world.queue.maxConcurrentOperationCount = 1
    world.simulation.run()
    #expect(prerequisite.state == .ready)
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }

  @Test(.heavy)
  func `prerequisites that need other operations of the queue finish under every schedule`() throws
  {
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(1_000),
      randomSchedules: Effort.drawn(200)
    ) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      queue.maxConcurrentOperationCount = 1
      let works = (0..<2).map { Work("work \($0)") }
      let needed = Work("needed")
      for work in works {
        work.addCondition(
          Asked { _ in
            let prerequisite = Work("prerequisite of \(work.label)")
            prerequisite.addDependency(needed)
            return prerequisite
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
  func `a shared prerequisite is cancelled with the last operation that needs it`(isCombined: Bool)
  {
    let world = World()
    let prerequisite = Work.open("prerequisite")
    let works = (0..<3).map { _ in Work() }
    for work in works {
      let condition = Asked { _ in prerequisite }
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
      #expect(prerequisite.isExecuting)
    }
    works[2].cancel(withError: Flaw(2))
    world.simulation.run()
    #expect(prerequisite.kind == .cancelled)
    #expect(prerequisite.flawNumbers == [2])
  }

  @Test func `a prerequisite that one operation returns twice is cancelled with it`() {
    let world = World()
    let prerequisite = Work.open("prerequisite")
    let work = Work()
    for _ in 0..<2 { work.addCondition(Asked { _ in prerequisite }) }
    world.run(work)
    work.cancel()
    world.simulation.run()
    #expect(prerequisite.kind == .cancelled)
  }
}

extension Work {
  fileprivate func finishWhenExecuting(in world: World) {
    world.simulation.run()
    finish()
    world.simulation.run()
  }

  @Test
  func `prerequisites that depend on each other are cancelled together with their operation`() {
    let world = World()
    let first = Work.open("first")
    let between = Work.open("between")
    let last = Work("last")
    last.addDependency(first)
    let prerequisites = [first, between, last]
    let work = Work("work")
    for prerequisite in prerequisites { work.addCondition(Asked { _ in prerequisite }) }
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
