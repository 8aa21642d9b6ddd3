import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite(.watched) struct `A manual start` {
  private static func made(
    in world: World,
    body: @escaping @Sendable (Work) -> Void = { $0.finish() }
  ) -> Work {
    let work = Work("work", body: body)
    work.environment = world.simulation.environment
    return work
  }

  @Test
  func `a manual start without conditions and claims executes on the caller's thread`() async {
    let (isSame, state) = await onThread {
      let mark = ThreadMark()
      let isSame = Changing(false)
      let work = Work { work in
        isSame.value = mark.isHere
        work.finish()
      }
      work.start()
      return (isSame.value, work.state)
    }
    #expect(isSame)
    #expect(state == .finished)
  }

  @Test func `observers of a manual start receive all events except enqueueing`() {
    let recorder = RecordingObserver()
    let work = Work()
    work.addObserver(recorder)
    work.start()
    #expect(recorder.kinds == [.started, .willFinish, .finished])
  }

  @Test(arguments: seeds)
  func `a manual start with conditions begins the evaluation and returns`(seed: UInt64) {
    let world = World(seed: seed)
    let probe = ConditionProbe()
    let work = Self.made(in: world)
    work.addCondition(probe)
    work.addCondition(Immediate())
    work.start()
    #expect(work.state == .evaluatingConditions)
    #expect(probe.evaluationCount == 0)
    world.simulation.run()
    #expect(probe.evaluationCount == 1)
    #expect(!work.didExecute)
    probe.answer(.satisfied)
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }

  /// A queue of its own runs the operation, which the program doesn't see.
  @Test(arguments: seeds)
  func `a manually started operation isn't in a queue that the program sees`(seed: UInt64) {
    let world = World(seed: seed)
    let recorder = RecordingObserver()
    let holder = Work.claiming("holder", MutuallyExclusive("a"))
    world.run(holder)
    let hasQueue = Changing(true)
    let work = Self.made(in: world) { work in
      hasQueue.value = OperationQueue.current != nil
      #expect(throws: OperationProduceError.noQueue) { try work.produce(Work()) }
      work.finish()
    }
    work.addCondition(Immediate())
    work.addClaim(MutuallyExclusive("a"))
    work.addObserver(recorder)
    work.start()
    #expect("\(work.explain())" == "work is evaluating its conditions")
    world.simulation.run()
    #expect("\(work.explain())".hasPrefix("work waits for “a”, which holder holds"))
    world.finishAll([holder])
    #expect(work.kind == .succeeded)
    #expect(!hasQueue.value)
    #expect(recorder.kinds == [.started, .willFinish, .finished])
  }

  @Test(arguments: seeds)
  func `unsatisfied conditions end a manually started operation`(seed: UInt64) {
    let world = World(seed: seed)
    for result in [OperationConditionResult.failed(Flaw(1)), .skipped(reason: "no need")] {
      let work = Self.made(in: world)
      work.addCondition(Asked { _ in result })
      work.addClaim(MutuallyExclusive("a"))
      work.start()
      world.simulation.run()
      #expect(work.kind == (result.errors.isEmpty ? .skipped : .failed))
      #expect(!work.didExecute)
    }
  }

  @Test(arguments: seeds)
  func `manually started operations with claims execute elsewhere one at a time`(seed: UInt64) {
    let world = World(seed: seed)
    let inside = Counter()
    let works = (0..<5).map { number in
      let work = ResultOperation(name: "w\(number)") {
        inside.add()
        await Task.yield()
        inside.add(-1)
      }
      work.environment = world.simulation.environment
      work.addClaim(MutuallyExclusive("a"))
      if number.isMultiple(of: 2) { work.addCondition(Immediate()) }
      work.start()
      return work
    }
    #expect(inside.peak == 0)
    world.simulation.run()
    #expect(works.allSatisfy { $0.kind == .succeeded })
    #expect(inside.peak == 1)
  }

  @Test(arguments: seeds)
  func `a manually started operation shares claims with queues and takes no slot`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let queued = Work.open("queued")
    queued.addClaim(MutuallyExclusive("a"))
    world.run(queued)
    let work = Self.made(in: world)
    work.addClaim(MutuallyExclusive("a"))
    work.start()
    world.simulation.run()
    #expect(!work.didExecute)
    let next = Work("next")
    next.addClaim(MutuallyExclusive("a"))
    world.run(next)
    queued.finish()
    world.simulation.run()
    #expect(work.kind == .succeeded)
    #expect(next.kind == .succeeded)
  }

  @Test(arguments: [WhenBusy.fail, .skip])
  func `a manually started operation's claim may be refused`(whenBusy: WhenBusy) {
    let world = World()
    let holder = Work.open("holder")
    holder.addClaim(MutuallyExclusive("a"))
    world.run(holder)
    let work = Self.made(in: world)
    work.addClaim(MutuallyExclusive("a", whenBusy: whenBusy))
    work.start()
    world.simulation.run()
    #expect(work.kind == (whenBusy == .fail ? .failed : .skipped))
    holder.finish()
    world.simulation.run()
  }

  @Test(arguments: seeds)
  func `a cancel ends a manually started operation while it waits`(seed: UInt64) {
    let world = World(seed: seed)
    let holder = Work.open("holder")
    holder.addClaim(MutuallyExclusive("a"))
    world.run(holder)
    let asked = Self.made(in: world)
    asked.addCondition(ConditionProbe())
    let waiting = Self.made(in: world)
    waiting.addClaim(MutuallyExclusive("a"))
    for work in [asked, waiting] {
      let ends = Counter()
      work.onFinish { _, _ in ends.add() }
      work.start()
      world.simulation.run()
      work.cancel(withError: Flaw(1))
      #expect(work.state == .ready)
      world.simulation.run()
      #expect(work.kind == .cancelled)
      #expect(work.flawNumbers == [1])
      #expect(!work.didExecute)
      #expect(ends.count == 1)
    }
    holder.finish()
    world.simulation.run()
    #expect(!waiting.didExecute)
  }

  @Test func `a cancel right after a manual start ends the operation once`() async {
    var environment = OperationEnvironment(claimDomain: ClaimDomain())
    environment.tracer = Tracer { operation, state in
      if state == .ready { operation.cancel(withError: Flaw(1)) }
    }
    let recorder = RecordingObserver()
    let work = Work { $0.finish() }
    work.environment = environment
    work.addObserver(recorder)
    await onThread { work.start() }
    #expect(recorder.kinds == [.cancelled, .willFinish, .finished])
    #expect(work.kind == .cancelled)
    #expect(!work.didExecute)
  }

  @Test(arguments: seeds)
  func `a cancel before a manual start begins ends the operation once`(seed: UInt64) {
    let world = World(seed: seed)
    let work = Self.made(in: world)
    let ends = Counter()
    work.onFinish { _, _ in ends.add() }
    work.addClaim(MutuallyExclusive("a"))
    work.start()
    work.cancel()
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(ends.count == 1)
  }

  @Test(arguments: [false, true])
  func `a cancel that races with a freed claim ends the operation once`(
    hasCondition: Bool
  ) async throws {
    let environment = OperationEnvironment(claimDomain: ClaimDomain())
    for _ in 0..<Effort.rounds(1_000) {
      let holder = Work.open("holder")
      holder.environment = environment
      holder.addClaim(MutuallyExclusive("a"))
      let held = Latch()
      holder.onStart { _ in held.open() }
      holder.start()
      await held.opened()
      let work = Work()
      let ends = Counter()
      work.environment = environment
      if hasCondition { work.addCondition(Immediate()) }
      work.addClaim(MutuallyExclusive("a"))
      work.onFinish { _, _ in ends.add() }
      await together({ work.start() }, { holder.finish() }, { work.cancel() })
      try await work.untilFinished()
      try await holder.untilFinished()
      #expect(ends.count == 1)
      #expect((work.kind == .cancelled) == work.isCancelled)
    }
  }

  @Test func `a manual start of a finished operation does nothing`() {
    let work = Work()
    work.start()
    work.start()
    #expect(work.executions.count == 1)
    let queued = Work()
    World().run(queued)
    queued.start()
    #expect(queued.executions.count == 1)
  }

  @Test func `a manual start needs only finished dependencies`() {
    let world = World()
    let dependency = Work()
    world.run(dependency)
    let work = Work()
    work.addDependency(dependency)
    work.start()
    #expect(work.kind == .succeeded)
  }

  @Test func `a manual start returns before its async body ends`() {
    let world = World()
    let work = ResultOperation { 7 }
    work.environment = world.simulation.environment
    work.start()
    #expect(work.state == .executing)
    world.simulation.run()
    #expect(work.kind == .succeeded)
    #expect((try? work.result?.get()) == 7)
  }

  @Test func `dependents of a manually started operation start when it finishes`() {
    let world = World()
    let work = Work.open()
    let dependent = Work()
    dependent.addDependency(work)
    world.run(dependent)
    work.start()
    world.simulation.run()
    #expect(!dependent.didExecute)
    work.finish()
    world.simulation.run()
    #expect(dependent.kind == .succeeded)
  }
}

/// Tells whether code runs on the thread that made it.
private struct ThreadMark {
  private static let slot = ThreadLocal<Token>()
  private let token = LiveCount().token()

  init() { Self.slot.value = token }

  var isHere: Bool { Self.slot.value === token }
}
