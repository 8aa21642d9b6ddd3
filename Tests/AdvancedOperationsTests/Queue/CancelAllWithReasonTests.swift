import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `Cancelling a whole queue with a reason` {
  @Test(arguments: seeds)
  func `a cancelled queue passes its reason to present operations only`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let executing = Work.open("executing", policy: .whenFinishIsCalled)
    let waiting = Work("waiting")
    let dependent = ResultOperation(name: "dependent") {}
    dependent.addDependency(waiting)
    let plain = BlockOperation {}
    plain.addDependency(waiting)
    let child = Work.open("child")
    let group = GroupOperation(name: "group") { child }
    let other = world.makeQueue()
    other.addOperation(group)
    world.run(executing, waiting, dependent, plain)
    world.queue.cancelAllOperations(withError: Flaw(1))
    other.cancelAllOperations(withError: Flaw(2))
    let later = Work("later")
    world.queue.addOperation(later)
    executing.finish()
    world.simulation.run()
    for operation in [executing, waiting, dependent] {
      #expect(operation.kind == .cancelled)
      #expect(operation.flawNumbers == [1])
      #expect(operation.cancellationReason as? Flaw == Flaw(1))
    }
    #expect(plain.isCancelled && plain.isFinished)
    #expect(plain.cancellationReason as? Flaw == Flaw(1))
    #expect(child.cancellationReason as? Flaw == Flaw(2))
    #expect(group.flawNumbers == [2])
    #expect(later.kind == .succeeded)
  }

  @Test func `a cancelled queue marks all operations before it notifies observers`() {
    let world = World()
    let works = (0..<5).map { Work.open("\($0)") }
    let seen = Log<Int>()
    for work in works {
      work.onCancel { _, _ in seen.add(works.filter(\.isCancelled).count) }
    }
    world.queue.addOperations(works)
    world.simulation.run()
    world.queue.cancelAllOperations(withError: Flaw(1))
    #expect(seen.entries == [5, 5, 5, 5, 5])
  }

  @Test func `a queue's cancel appends its reason and leaves finished operations alone`() {
    let world = World()
    let ended = Work()
    world.run(ended)
    let work = Work.open(policy: .whenFinishIsCalled)
    world.run(work)
    work.cancel(withError: Flaw(1))
    world.queue.cancelAllOperations(withError: Flaw(2))
    work.finish()
    world.simulation.run()
    #expect(work.flawNumbers == [1, 2])
    #expect(work.cancellationReason as? Flaw == Flaw(1))
    #expect(ended.kind == .succeeded)
  }

  @Test func `the total of an advanced queue's progress can be set and reset`() {
    let world = World()
    let open = Work.open()
    world.run(open, Work())
    let progress = world.queue.progress
    #expect(progress.totalUnitCount == 2)
    progress.totalUnitCount = 10
    #expect(progress.fractionCompleted == 0.1)
    progress.resetTotalUnitCount()
    #expect(progress.totalUnitCount == 2)
    #expect(progress.fractionCompleted == 0.5)
    open.finish()
  }

  @Test(arguments: seeds)
  func `an operation that others prevented from running has an inherited failure`(seed: UInt64) {
    let world = World(seed: seed)
    let first = ResultOperation<Int>(name: "first") { throw Flaw(1) }
    let second = first.then { $0 }
    let third = second.then { $0 }
    let ruled = Work("ruled")
    ruled.addDependency(first)
    ruled.addCondition(NoFailedDependencies())
    world.run(first, second, third, ruled)
    #expect(first.outcome?.isInherited == false)
    for operation in [second, third, ruled] {
      #expect(operation.outcome?.isInherited == true)
      #expect(operation.outcome?.failure?.isInherited == true)
    }
    let fine = Work()
    world.run(fine)
    #expect(fine.outcome?.isInherited == false)
  }
}
