import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `A cancel from executing on` {
  @Test(arguments: seeds)
  func `a cancel with finishImmediately finishes the operation immediately`(seed: UInt64) {
    let world = World(seed: seed)
    let work = Work.open("work")
    let recorder = RecordingObserver()
    work.addObserver(recorder)
    world.run(work)
    work.cancel(withError: Flaw(1))
    #expect(work.state == .finished)
    #expect(work.kind == .cancelled)
    #expect(work.flawNumbers == [1])
    #expect(work.cancellationReason as? Flaw == Flaw(1))
    #expect(recorder.kinds == [.enqueued, .started, .cancelled, .willFinish, .finished])
    #expect(work.hooks.entries == ["cancelled [1]", "finished [1]"])
    #expect(work.hasStarted)
    // A later finish of the body is ignored.
    work.finish(withError: Flaw(2))
    #expect(work.flawNumbers == [1])
    #expect(recorder.kinds.count == 5)
  }

  @Test(arguments: seeds)
  func `a cancel with whenFinishIsCalled waits for the body`(seed: UInt64) {
    let world = World(seed: seed)
    let work = Work.open("work", policy: .whenFinishIsCalled)
    let recorder = RecordingObserver()
    work.addObserver(recorder)
    world.run(work)
    work.cancel(withError: Flaw(1))
    world.simulation.run()
    #expect(work.isCancelled)
    #expect(work.state == .executing)
    #expect(work.outcome == nil)
    #expect(work.hooks.entries == ["cancelled [1]"])
    work.finish(withErrors: [CancellationError(), Flaw(2)])
    #expect(work.kind == .cancelled)
    #expect(work.flawNumbers == [1, 2])
    #expect(recorder.kinds == [.enqueued, .started, .cancelled, .willFinish, .finished])
    #expect(work.hooks.entries == ["cancelled [1]", "finished [1, 2]"])
  }

  @Test(arguments: [AdvancedOperation.CancellationPolicy.finishImmediately, .whenFinishIsCalled])
  func `later cancels only add their reasons`(policy: AdvancedOperation.CancellationPolicy) {
    let world = World()
    let recorder = RecordingObserver()
    let work = Work.open(policy: policy)
    work.addObserver(recorder)
    world.queue.isSuspended = true
    world.run(work)
    work.cancel()
    work.cancel(withError: Flaw(1))
    work.cancel(withError: Flaw(2))
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(work.flawNumbers == [1, 2])
    #expect(work.cancellationReason == nil, "the first came without a reason")
    #expect(recorder.kinds == [.enqueued, .cancelled, .willFinish, .finished])
  }

  @Test func `didCancel receives the errors at the time of the cancel`() {
    let world = World()
    let work = Work.open(policy: .whenFinishIsCalled)
    let told = Log<[Int]>()
    work.onCancel { _, errors in told.add(flaws(errors)) }
    world.run(work)
    work.cancel(withError: Flaw(1))
    work.cancel(withError: Flaw(2))
    work.finish()
    #expect(told.entries == [[1]])
    #expect(work.flawNumbers == [1, 2])
  }

  @Test(arguments: ["hook", "willFinish", "didFinish", "finished"])
  func `a cancel is ignored after the outcome was decided`(moment: String) {
    let world = World()
    let recorder = RecordingObserver()
    let work = moment == "hook" ? CancelledByItsHook(body: { _ in }) : Work.open()
    work.addObserver(recorder)
    let cancels: @Sendable (AdvancedOperation, OperationOutcome) -> Void = { operation, _ in
      operation.cancel(withError: Flaw(1))
    }
    switch moment {
    case "willFinish": work.addObserver(BlockObserver(willFinish: cancels))
    case "didFinish": work.addObserver(BlockObserver(didFinish: cancels))
    default: break
    }
    world.run(work)
    work.finish()
    work.cancel(withError: Flaw(1))
    #expect(!work.isCancelled)
    #expect(work.cancellationReason == nil)
    #expect(work.kind == .succeeded)
    #expect(work.errors.isEmpty)
    #expect(recorder.kinds == [.enqueued, .started, .willFinish, .finished])
  }

  @Test func `an operation may cancel itself in execute`() {
    let world = World(limit: 1)
    let log = Log<String>()
    let work = Work { work in
      work.cancel(withError: Flaw(1))
      log.add("\(work.state)")
      work.finish(withError: Flaw(2))
    }
    world.run(work)
    #expect(log.entries == ["finished"])
    #expect(work.kind == .cancelled)
    #expect(work.flawNumbers == [1])
    #expect(world.queue.operationCount == 0)
  }

  @Test func `the body of a task can read the cancellation reason`() {
    let world = World()
    let found = Log<Int>()
    let gate = Latch()
    let work = ResultOperation {
      await gate.opened()
      if Task.isCancelled, let reason = AdvancedOperation.current?.cancellationReason as? Flaw {
        found.add(reason.number)
      }
    }
    world.run(work)
    work.cancel(withError: Flaw(7))
    world.simulation.run()
    #expect(work.state == .executing)
    gate.open()
    world.simulation.run()
    #expect(found.entries == [7])
    #expect(work.kind == .cancelled)
  }

  // MARK: All of a queue

  @Test(arguments: seeds)
  func `cancelling a whole queue lets no dependent start`(seed: UInt64) {
    let world = World(seed: seed)
    let chain = (0..<10).map { Work.open("w\($0)") }
    for (before, after) in zip(chain, chain.dropFirst()) { after.addDependency(before) }
    world.queue.addOperations(chain)
    world.simulation.run()
    world.queue.cancelAllOperations()
    world.simulation.run()
    #expect(chain.allSatisfy { $0.kind == .cancelled })
    #expect(chain.map(\.didExecute) == [true] + Array(repeating: false, count: 9))
    #expect(world.queue.operationCount == 0)
  }

  @Test func `cancelling a whole queue marks all operations before it notifies observers`() {
    let world = World()
    let works = (0..<5).map { Work.open("w\($0)") }
    let unflagged = Counter()
    for work in works {
      work.onCancel { _, _ in
        if !works.allSatisfy(\.isCancelled) { unflagged.add() }
      }
    }
    world.queue.addOperations(works)
    world.simulation.run()
    world.queue.cancelAllOperations()
    world.simulation.run()
    #expect(unflagged.count == 0)
    #expect(works.allSatisfy { $0.kind == .cancelled })
  }

  @Test func `cancelling a queue during another notification marks all operations first`() {
    let world = World()
    let others = (0..<3).map { Work.open("w\($0)") }
    let unflagged = Counter()
    let first = Work.open("first")
    // The sweep happens while the first is telling of its start.
    first.onStart { _ in world.queue.cancelAllOperations() }
    first.onCancel { _, _ in
      if !others.allSatisfy(\.isCancelled) { unflagged.add() }
    }
    world.queue.addOperations([first] + others)
    world.simulation.run()
    #expect(unflagged.count == 0)
    #expect(([first] + others).allSatisfy { $0.kind == .cancelled })
    #expect(first.didExecute)
  }

  /// Says that a cancel ends it at once from its second cancel on.
  private final class Impatient: AdvancedOperation, @unchecked Sendable {
    private let readCount = Counter()
    var reads: Int { readCount.count }
    override func execute() {}
    override var cancellationPolicy: CancellationPolicy {
      readCount.add()
      return readCount.count == 1 ? .whenFinishIsCalled : .finishImmediately
    }
  }

  @Test func `a second cancel ignores a changed cancellation policy`() {
    let world = World()
    let work = Impatient()
    world.run(work)
    work.cancel(withError: Flaw(1))
    work.cancel(withError: Flaw(2))
    #expect(work.reads == 2)
    #expect(work.state == .executing && work.errors as? [Flaw] == [Flaw(1), Flaw(2)])
    work.finish()
    world.run()
    #expect(work.outcome?.isCancelled == true)
  }
}

private final class CancelledByItsHook: Work, @unchecked Sendable {
  override func finished(withErrors errors: [any Error]) { cancel(withError: Flaw(1)) }
}
