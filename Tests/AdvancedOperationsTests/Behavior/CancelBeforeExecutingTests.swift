import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// A cancel in every situation before the operation executes: it ends without `execute()`, is told
/// once, and keeps the reason.
@Suite struct `A cancel before executing` {
  private static func expectLeft(
    _ work: Work,
    _ recorder: RecordingObserver,
    told: [OperationEvent.Kind] = [.enqueued, .cancelled, .willFinish, .finished],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(work.state == .finished, sourceLocation: sourceLocation)
    #expect(work.kind == .cancelled, sourceLocation: sourceLocation)
    #expect(work.isCancelled, sourceLocation: sourceLocation)
    #expect(work.flawNumbers == [1], sourceLocation: sourceLocation)
    #expect(work.cancellationReason as? Flaw == Flaw(1), sourceLocation: sourceLocation)
    #expect(!work.didExecute, sourceLocation: sourceLocation)
    #expect(recorder.kinds == told, sourceLocation: sourceLocation)
    #expect(work.hooks.entries == ["finished [1]"], sourceLocation: sourceLocation)
    #expect(!work.hasStarted, sourceLocation: sourceLocation)
    #expect(work.origins == [.cancel], sourceLocation: sourceLocation)
  }

  private static func recorded(
    _ name: String? = nil,
    policy: AdvancedOperation.CancellationPolicy = .finishImmediately
  ) -> (Work, RecordingObserver) {
    let work = Work(name, policy: policy)
    let recorder = RecordingObserver()
    work.addObserver(recorder)
    return (work, recorder)
  }

  @Test(arguments: [false, true])
  func `an operation that is cancelled before enqueueing finishes when it is enqueued`(
    hasConditions: Bool
  ) {
    let world = World()
    let (work, recorder) = Self.recorded()
    let probe = ConditionProbe()
    if hasConditions { work.addCondition(probe) }
    work.addDependency(Work())
    work.cancel(withError: Flaw(1))
    #expect(work.isCancelled)
    #expect(work.state == .pending)
    #expect(!work.isFinished)
    #expect(work.outcome == nil)
    #expect(recorder.kinds == [.cancelled])
    world.run(work)
    Self.expectLeft(work, recorder, told: [.cancelled, .enqueued, .willFinish, .finished])
    #expect(probe.evaluationCount == 0)
  }

  @Test func `a cancelled operation finishes on a manual start despite its dependencies`() {
    let (work, recorder) = Self.recorded()
    work.addDependency(Work())
    work.addCondition(ConditionProbe())
    work.cancel(withError: Flaw(1))
    work.start()
    Self.expectLeft(work, recorder, told: [.cancelled, .willFinish, .finished])
  }

  @Test(arguments: seeds)
  func `a cancel during the wait for a dependency ends that wait`(seed: UInt64) {
    let world = World(seed: seed)
    let dependency = Work.open()
    let (work, recorder) = Self.recorded()
    work.addDependency(dependency)
    world.run(dependency, work)
    work.cancel(withError: Flaw(1))
    #expect(work.state == .ready)
    world.simulation.run()
    Self.expectLeft(work, recorder)
    #expect(dependency.isExecuting)
    #expect(work.dependencies == [dependency])
  }

  @Test(arguments: seeds)
  func `a cancel during condition evaluation cancels the evaluation's task`(seed: UInt64) {
    let world = World(seed: seed)
    let probe = ConditionProbe()
    let (work, recorder) = Self.recorded()
    work.addCondition(probe)
    world.run(work)
    work.cancel(withError: Flaw(1))
    #expect(work.state == .ready)
    world.simulation.run()
    Self.expectLeft(work, recorder)
  }

  @Test(arguments: seeds)
  func `a cancelled operation doesn't wait for a condition that never answers`(seed: UInt64) {
    let world = World(seed: seed)
    let gate = Latch()
    let asked = Counter()
    let (work, recorder) = Self.recorded()
    work.addCondition(
      Asked { _ in
        asked.add()
        // Not even when its task is cancelled.
        await gate.opened()
        asked.add()
        return .failed(Flaw(9))
      }
    )
    world.run(work)
    #expect(asked.count == 1)
    work.cancel(withError: Flaw(1))
    world.simulation.run()
    Self.expectLeft(work, recorder)
    // A verdict that comes after all changes nothing.
    gate.open()
    world.simulation.run()
    #expect(asked.count == 2)
    Self.expectLeft(work, recorder)
  }

  @Test(arguments: seeds)
  func `a condition may cancel its operation`(seed: UInt64) {
    let world = World(seed: seed)
    for isImmediate in [false, true] {
      let (work, recorder) = Self.recorded()
      let cancels: @Sendable (AdvancedOperation) -> OperationConditionResult = { operation in
        operation.cancel(withError: Flaw(1))
        return .satisfied
      }
      if isImmediate {
        work.addCondition(Immediate { cancels($0) })
      } else {
        work.addCondition(Asked { cancels($0) })
      }
      world.run(work)
      Self.expectLeft(work, recorder)
    }
  }

  @Test(arguments: seeds)
  func `an operation that is cancelled while it waits needs no slot`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let holder = Work.open()
    world.run(holder)
    let (work, recorder) = Self.recorded()
    world.run(work)
    #expect(work.state == .ready)
    work.cancel(withError: Flaw(1))
    world.simulation.run()
    Self.expectLeft(work, recorder)
    #expect(holder.isExecuting)
  }

  @Test(arguments: seeds)
  func `an operation that is cancelled while it waits for a claim releases its place`(seed: UInt64)
  {
    let world = World(seed: seed)
    let holder = Work.open()
    holder.addClaim(MutuallyExclusive("a"))
    world.run(holder)
    let (work, recorder) = Self.recorded()
    work.addClaim(MutuallyExclusive("a"))
    world.run(work)
    work.cancel(withError: Flaw(1))
    world.simulation.run()
    Self.expectLeft(work, recorder)
    let next = Work()
    next.addClaim(MutuallyExclusive("a"))
    world.run(next)
    #expect(!next.didExecute)
    holder.finish()
    world.simulation.run()
    #expect(next.kind == .succeeded)
  }

  @Test func `an operation that is cancelled in a suspended queue ends when that resumes`() {
    let world = World()
    world.queue.isSuspended = true
    let (work, recorder) = Self.recorded()
    world.run(work)
    work.cancel(withError: Flaw(1))
    world.simulation.run()
    #expect(work.state == .ready)
    #expect(recorder.kinds == [.enqueued, .cancelled])
    world.queue.isSuspended = false
    world.simulation.run()
    Self.expectLeft(work, recorder)
  }

  @Test(arguments: ["enqueued", "willAdd", "didAdd"])
  func `an operation may be cancelled while it is added to the queue`(moment: String) {
    let world = World()
    let delegate = RecordingDelegate()
    world.queue.delegate = delegate
    let (work, recorder) = Self.recorded()
    let cancels: @Sendable (AdvancedOperation) -> Void = { $0.cancel(withError: Flaw(1)) }
    switch moment {
    case "enqueued": work.addObserver(BlockObserver(didEnqueue: cancels))
    case "willAdd": delegate.willAdd.value = cancels
    default: delegate.didAdd.value = cancels
    }
    work.addCondition(ConditionProbe())
    world.run(work)
    let told: [OperationEvent.Kind] = [.enqueued, .cancelled, .willFinish, .finished]
    let early: [OperationEvent.Kind] = [.cancelled, .enqueued, .willFinish, .finished]
    Self.expectLeft(work, recorder, told: moment == "willAdd" ? early : told)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `a cancel after a failed condition appends its reason to the errors`() {
    let world = World(limit: 1)
    let late = Work.open()
    let probe = ConditionProbe()
    let work = Work()
    work.addCondition(probe)
    world.run(work, late)
    work.addDependency(late)
    probe.answer(.failed(Flaw(1)))
    world.simulation.run()
    work.cancel(withError: Flaw(2))
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(work.flawNumbers == [1, 2])
    late.finish()
    world.simulation.run()
  }
}
