import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// A condition may be outdated when the operation starts: *skip if it was done*.
@Suite(.watched) struct `Immediate conditions are evaluated again at the start` {
  /// An immediate condition whose answer a test changes, and that counts how often it is evaluated.
  private struct Question {
    let answer = Changing(OperationConditionResult.satisfied)
    let asked = Counter()

    var condition: Immediate {
      let (answer, asked) = (answer, asked)
      return Immediate("question") { _ in
        asked.add()
        return answer.value
      }
    }
  }

  private static func importing(_ name: String, _ isDone: Changing<Bool>) -> Work {
    let work = Work(name) { work in
      isDone.value = true
      work.finish()
    }
    work.addCondition(
      Immediate { _ in isDone.value ? .skipped(reason: "it was done") : .satisfied }
    )
    return work
  }

  @Test(arguments: Effort.seeds(200))
  func `a unique import is done once after a wait for a slot`(
    seed: UInt64
  ) {
    let world = World(seed: seed, limit: 1)
    let isDone = Changing(false)
    let imports = (0..<4).map { Self.importing("import \($0)", isDone) }
    world.queue.addOperations(imports)
    world.simulation.run()
    #expect(imports.count { $0.kind == .succeeded } == 1)
    #expect(imports.count { $0.kind == .skipped } == 3)
  }

  @Test func `a unique import is done once after a wait for a slot on threads`()
    async throws
  {
    for _ in 0..<200 {
      let queue = AdvancedOperationQueue()
      queue.maxConcurrentOperationCount = 1
      let isDone = Changing(false)
      let imports = (0..<4).map { Self.importing("import \($0)", isDone) }
      for work in imports { queue.addOperation(work) }
      try await queue.untilAllOperationsAreFinished()
      #expect(imports.count { $0.kind == .succeeded } == 1)
      #expect(imports.count { $0.kind == .skipped } == 3)
    }
  }

  #if DEBUG
  @Test
  func `conditions are evaluated again after a slot was taken and released during evaluation`()
    async throws
  {
    let result = await onThread {
      Result {
        try exploreSchedules(
          interruptions: 1,
          depthFirst: Effort.schedules(1_500),
          randomSchedules: Effort.drawn(300)
        ) { simulation in
          let queue = AdvancedOperationQueue(environment: simulation.environment)
          queue.maxConcurrentOperationCount = 1
          let isDone = Changing(false)
          let imports = (0..<2).map { Self.importing("import \($0)", isDone) }
          queue.addOperations(imports)
          simulation.run()
          try #require(imports.count { $0.kind == .succeeded } == 1)
          try #require(imports.count { $0.kind == .skipped } == 1)
        }
      }
    }
    _ = try result.get()
  }
  #endif

  @Test(arguments: seeds)
  func `conditions are evaluated twice after a wait for a slot`(
    seed: UInt64
  ) {
    let world = World(seed: seed, limit: 1)
    let question = Question()
    let holder = Work.open("holder")
    let work = Work("work")
    work.addCondition(question.condition)
    world.run(holder)
    world.run(work)
    #expect(question.asked.count == 1)
    question.answer.value = .failed(Flaw(1))
    holder.finish()
    world.simulation.run()
    #expect(question.asked.count == 2)
    #expect(work.flawNumbers == [1])
    #expect(!work.didExecute)
    // It gave its slot back.
    let next = Work("next")
    world.run(next)
    #expect(next.kind == .succeeded)
  }

  @Test func `conditions are evaluated again after the limit was raised`() {
    let world = World(limit: 0)
    let question = Question()
    let work = Work("work")
    work.addCondition(question.condition)
    world.run(work)
    question.answer.value = .skipped(reason: "late")
    world.queue.maxConcurrentOperationCount = 2
    world.simulation.run()
    #expect(work.kind == .skipped)
  }

  @Test(arguments: seeds)
  func `conditions are evaluated again after a higher priority took the slot`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let isDone = Changing(false)
    let low = Self.importing("low", isDone)
    let high = Self.importing("high", isDone)
    high.queuePriority = .veryHigh
    world.queue.addOperation(low)
    world.queue.addOperation(high)
    world.simulation.run()
    #expect([low, high].count { $0.kind == .succeeded } == 1)
    #expect([low, high].count { $0.kind == .skipped } == 1)
  }

  @Test(arguments: seeds)
  func `conditions are evaluated again after the queue was suspended before the start`(seed: UInt64)
  {
    let world = World(seed: seed)
    let queue = world.queue
    let question = Question()
    let work = Work("work")
    work.addCondition(question.condition)
    work.addCondition(
      Immediate { [asked = question.asked] _ in
        if asked.count == 1 { queue.isSuspended = true }
        return .satisfied
      }
    )
    world.run(work)
    #expect(work.state == .ready)
    question.answer.value = .skipped(reason: "late")
    queue.isSuspended = false
    world.simulation.run()
    #expect(question.asked.count == 2)
    #expect(work.kind == .skipped)
  }

  @Test func `conditions are evaluated again after a wait for a late dependency`() {
    let world = World()
    let question = Question()
    let late = Work.open("late")
    let work = Work("work")
    work.addCondition(question.condition)
    work.addCondition(
      Immediate { [asked = question.asked] work in
        if asked.count == 1 { work.addDependency(late) }
        return .satisfied
      }
    )
    world.run(work, late)
    #expect(!work.didExecute)
    question.answer.value = .failed(Flaw(1))
    late.finish()
    world.simulation.run()
    #expect(work.flawNumbers == [1])
  }

  @Test func `conditions are evaluated after a barrier returns`() {
    let world = World()
    let question = Question()
    let before = Work.open("before")
    let work = Work("work")
    work.addCondition(question.condition)
    world.queue.addOperation(before)
    world.queue.addBarrierBlock {
      question.answer.value = .skipped(reason: "done by the barrier")
    }
    world.run(work)
    #expect(question.asked.count == 0)
    before.finish()
    world.simulation.run()
    #expect(question.asked.count == 1)
    #expect(work.kind == .skipped)
  }

  @Test(arguments: seeds, [false, true])
  func `immediate conditions are evaluated again after a wait for another condition`(
    seed: UInt64,
    isJoined: Bool
  ) {
    let world = World(seed: seed)
    let question = Question()
    let probe = ConditionProbe()
    let work = Work("work")
    if isJoined {
      work.addCondition(question.condition && probe)
    } else {
      work.addCondition(question.condition)
      work.addCondition(probe)
    }
    world.run(work)
    #expect(question.asked.count >= 1)
    question.answer.value = .skipped(reason: "late")
    probe.answer(.satisfied)
    world.simulation.run()
    #expect(probe.evaluationCount == 1)
    #expect(work.kind == .skipped)
    #expect(!work.didExecute)
  }

  @Test(arguments: seeds)
  func `a manually started operation evaluates conditions again after another condition`(
    seed: UInt64
  ) {
    let world = World(seed: seed)
    let question = Question()
    let probe = ConditionProbe()
    let work = Work("work")
    work.addCondition(question.condition)
    work.addCondition(probe)
    work.environment = world.simulation.environment
    work.start()
    world.simulation.run()
    question.answer.value = .failed(Flaw(1))
    probe.answer(.satisfied)
    world.simulation.run()
    #expect(work.flawNumbers == [1])
    #expect(!work.didExecute)
  }

  // MARK: Without a wait

  @Test(arguments: seeds, [1, 3, OperationQueue.defaultMaxConcurrentOperationCount])
  func `an operation that starts immediately evaluates its condition twice`(
    seed: UInt64,
    limit: Int
  ) {
    let world = World(seed: seed, limit: limit)
    let question = Question()
    for number in 0..<5 {
      let work = Work("work \(number)")
      work.addCondition(question.condition)
      world.run(work)
      #expect(work.kind == .succeeded)
    }
    #expect(question.asked.count == 10)
  }

  @Test(arguments: seeds)
  func `operations with free slots evaluate their conditions twice`(seed: UInt64) {
    let world = World(seed: seed, limit: 8)
    let question = Question()
    let works = (0..<8).map { Work.open("work \($0)") }
    for work in works { work.addCondition(question.condition) }
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(works.allSatisfy { $0.isExecuting })
    #expect(question.asked.count == 16)
    world.finishAll(works)
  }

  @Test(arguments: seeds)
  func
    `an operation that waited for a prerequisite evaluates its condition after that, and at the start`(
      seed: UInt64
    )
  {
    let world = World(seed: seed)
    let question = Question()
    let prerequisite = Work("prerequisite")
    let work = Work("work")
    work.addCondition(Asked(prerequisite: { _ in prerequisite }))
    let other = Work("other")
    other.addCondition(question.condition && Immediate())
    world.run(work, other)
    #expect(prerequisite.kind == .succeeded)
    #expect(question.asked.count == 2)
  }

  // MARK: What follows

  @Test
  func `stopAtFirstFailure skips later conditions if one fails at the start`() {
    let world = World(limit: 1)
    let (first, second) = (Question(), Question())
    let holder = Work.open("holder")
    let work = Work("work")
    work.conditionPolicy = .stopAtFirstFailure
    work.addCondition(first.condition)
    work.addCondition(second.condition)
    world.run(holder)
    world.run(work)
    first.answer.value = .failed(Flaw(1))
    second.answer.value = .failed(Flaw(2))
    holder.finish()
    world.simulation.run()
    #expect(work.flawNumbers == [1])
    #expect(first.asked.count == 2)
    #expect(second.asked.count == 1)
  }

  @Test func `an operation that is skipped at its start doesn't cancel the claim's holder`() {
    let world = World()
    let question = Question()
    let holder = Work.claiming("holder", MutuallyExclusive("a"))
    world.run(holder)
    let narrow = world.makeQueue(limit: 1)
    let slot = Work.open("slot")
    let work = Work("work")
    work.addCondition(question.condition)
    work.addClaim(MutuallyExclusive("a", whenBusy: .cancelHolder))
    narrow.addOperations([slot, work])
    world.simulation.run()
    question.answer.value = .skipped(reason: "late")
    slot.finish()
    world.simulation.run()
    #expect(work.kind == .skipped)
    #expect(holder.isExecuting)
    world.finishAll([holder])
  }

  @Test(arguments: seeds)
  func `a late dependency causes one more evaluation at the start`(
    seed: UInt64
  ) {
    let world = World(seed: seed, limit: 1)
    let asked = Counter()
    let late = Work.open("late")
    let holder = Work.open("holder")
    let work = Work("work")
    work.addCondition(
      Immediate { work in
        if asked.add() == 2 { work.addDependency(late) }
        return .satisfied
      }
    )
    world.run(holder)
    world.run(work)
    holder.finish()
    world.simulation.run()
    #expect(asked.count == 2 && !work.didExecute)
    // It holds no slot meanwhile.
    world.run(late)
    #expect(late.isExecuting)
    late.finish()
    world.simulation.run()
    #expect(asked.count == 3)
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `a cancel during reevaluation prevents execution`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let asked = Counter()
    let holder = Work.open("holder")
    let work = Work("work")
    work.addCondition(
      Immediate { work in
        if asked.add() == 2 { work.cancel(withError: Flaw(1)) }
        return .satisfied
      }
    )
    world.run(holder)
    world.run(work)
    holder.finish()
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(work.flawNumbers == [1])
    #expect(!work.didExecute)
    let next = Work("next")
    world.run(next)
    #expect(next.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `an immediate condition sees its operation as the current one`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let others = Counter()
    let holder = Work.open("holder")
    let work = Work("work")
    work.addCondition(
      Immediate { work in
        if AdvancedOperation.current !== work { others.add() }
        return .satisfied
      }
    )
    world.run(holder)
    world.run(work)
    holder.finish()
    world.simulation.run()
    #expect(work.kind == .succeeded)
    #expect(others.count == 0)
  }
}
