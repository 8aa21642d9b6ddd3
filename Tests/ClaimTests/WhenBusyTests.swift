import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `A claim that is taken` {
  private static func holding(
    _ name: String,
    in world: World,
    policy: AdvancedOperation.CancellationPolicy = .finishImmediately
  ) -> Work {
    let holder = Work.open(name, policy: policy)
    holder.addClaim(MutuallyExclusive("a"))
    world.run(holder)
    return holder
  }

  @Test func `an operation waits for a claim with wait until the holder finishes`() {
    let world = World()
    let holder = Self.holding("holder", in: world)
    let work = Work()
    work.addClaim(MutuallyExclusive("a", whenBusy: .wait))
    world.run(work)
    #expect(work.state == .ready)
    holder.finish()
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }

  @Test func `a busy claim with fail causes an error that names the holder`() {
    let world = World()
    let holder = Self.holding("holder", in: world)
    let work = Work()
    work.addClaim(MutuallyExclusive("a", whenBusy: .fail))
    world.run(work)
    #expect(work.kind == .failed)
    #expect(work.origins == [.condition("a")])
    let error = work.errors.first as? OperationConditionError
    #expect(error?.underlying as? OperationClaimError == .busy(holders: ["holder"]))
    #expect(!work.didExecute)
    #expect(holder.isExecuting)
    holder.finish()
    world.simulation.run()
  }

  @Test func `a busy claim with skip skips the operation without an error`() {
    let world = World()
    let holder = Self.holding("holder", in: world)
    let work = Work()
    work.addClaim(MutuallyExclusive("a", whenBusy: .skip))
    world.run(work)
    guard case .skipped(let reason) = work.outcome else {
      Issue.record("\(String(describing: work.outcome))")
      return
    }
    #expect(reason == "“a” is held by holder")
    #expect(work.errors.isEmpty)
    #expect(!work.didExecute)
    holder.finish()
    world.simulation.run()
  }

  @Test(arguments: seeds)
  func `a claim with cancelHolder is acquired after the holder has finished`(seed: UInt64) {
    let world = World(seed: seed)
    let holder = Self.holding("holder", in: world, policy: .whenFinishIsCalled)
    let work = Work("work")
    work.addClaim(MutuallyExclusive("a", whenBusy: .cancelHolder))
    world.run(work)
    #expect(holder.isCancelled)
    #expect(holder.cancellationReason as? OperationClaimError == .preempted(by: "work"))
    #expect(!work.didExecute)
    holder.finish()
    world.simulation.run()
    #expect(holder.kind == .cancelled)
    #expect(work.kind == .succeeded)
  }

  @Test func `a claim with cancelHolder cancels all holders that exclude the operation`() {
    let world = World()
    let holders = (0..<3).map { number in
      let holder = Work.open("h\(number)")
      holder.addClaim(MutuallyExclusive("a", limit: 3))
      world.run(holder)
      return holder
    }
    let work = Work("work")
    work.addClaim(MutuallyExclusive("a", limit: 1, whenBusy: .cancelHolder))
    world.run(work)
    #expect(holders.allSatisfy { $0.kind == .cancelled })
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: [WhenBusy.fail, .skip, .cancelHolder, .wait])
  func `a free claim is acquired whatever its policy is`(whenBusy: WhenBusy) {
    let world = World()
    let work = Work()
    work.addClaim(MutuallyExclusive("a", whenBusy: whenBusy))
    world.run(work)
    #expect(work.kind == .succeeded)
    // And given back.
    let next = Work()
    next.addClaim(MutuallyExclusive("a", whenBusy: .fail))
    world.run(next)
    #expect(next.kind == .succeeded)
  }

  @Test(arguments: [WhenBusy.fail, .skip])
  func `a refused operation holds none of its other claims`(whenBusy: WhenBusy) {
    let world = World()
    let holder = Self.holding("holder", in: world)
    let work = Work()
    work.addClaim(MutuallyExclusive("b"))
    work.addClaim(MutuallyExclusive("a", whenBusy: whenBusy))
    world.run(work)
    let other = Work()
    other.addClaim(MutuallyExclusive("b", whenBusy: .fail))
    world.run(other)
    #expect(other.kind == .succeeded)
    holder.finish()
    world.simulation.run()
  }

  @Test func `a busy claim refuses even if another claim would wait`() {
    let world = World()
    let holder = Self.holding("holder", in: world)
    let other = Work.open("other")
    other.addClaim(MutuallyExclusive("b"))
    world.run(other)
    let work = Work()
    work.addClaim(MutuallyExclusive("b", whenBusy: .wait))
    work.addClaim(MutuallyExclusive("a", whenBusy: .fail))
    world.run(work)
    #expect(work.kind == .failed)
    for work in [holder, other] { work.finish() }
    world.simulation.run()
  }

  @Test func `a refused operation cancels no holder of its other claims`() {
    let world = World()
    let holder = Self.holding("holder", in: world)
    let other = Work.open("other")
    other.addClaim(MutuallyExclusive("b"))
    world.run(other)
    let work = Work()
    work.addClaim(MutuallyExclusive("b", whenBusy: .cancelHolder))
    work.addClaim(MutuallyExclusive("a", whenBusy: .fail))
    world.run(work)
    #expect(work.kind == .failed)
    #expect(!other.isCancelled)
    for work in [holder, other] { work.finish() }
    world.simulation.run()
  }
}

/// What `.cancelHolder` does beyond the one holder.
@Suite struct `An operation that cancels the holders of its claims` {
  @Test func `an operation cancels the holders of its cancelHolder claims only`() {
    let world = World()
    let holders = ["a", "b", "c", "d"].map { Work.claiming($0, MutuallyExclusive($0)) }
    for holder in holders { world.run(holder) }
    let work = Work.claiming(
      "work",
      MutuallyExclusive("a", whenBusy: .cancelHolder),
      MutuallyExclusive("b", whenBusy: .cancelHolder),
      MutuallyExclusive("c", whenBusy: .wait)
    )
    world.run(work)
    #expect(holders.map(\.isCancelled) == [true, true, false, false])
    #expect(!work.didExecute)
    holders[2].finish()
    world.simulation.run()
    #expect(work.isExecuting)
    world.finishAll([work] + holders)
  }

  @Test func `an operation that cancels holders keeps its place in FIFO order`() {
    let world = World()
    let holder = Work.open("holder", policy: .whenFinishIsCalled)
    holder.addClaim(MutuallyExclusive("a"))
    world.run(holder)
    let before = Work.claiming("before", MutuallyExclusive("a"))
    let work = Work.claiming("work", MutuallyExclusive("a", whenBusy: .cancelHolder))
    let after = Work.claiming("after", MutuallyExclusive("a"))
    for work in [before, work, after] { world.run(work) }
    #expect(holder.isCancelled && !holder.isFinished)
    for next in [holder, before, work] {
      next.finish()
      world.simulation.run()
    }
    #expect(after.isExecuting)
    #expect([before, work].allSatisfy { $0.kind == .succeeded })
    world.finishAll([after])
  }

  @Test(arguments: Effort.seeds(20))
  func `an operation keeps its place if the cancelled holder ends immediately`(
    seed: UInt64
  ) throws {
    let world = World(seed: seed)
    let holder = Work.claiming("holder", MutuallyExclusive("a"))
    world.run(holder)
    let work = Work.claiming("work", MutuallyExclusive("a", whenBusy: .cancelHolder))
    let late = Work.claiming("late", MutuallyExclusive("a"))
    world.queue.addOperation(work)
    try world.simulation.run { holder.isFinished }
    world.queue.addOperation(late)
    world.simulation.run()
    #expect(work.isExecuting)
    #expect(!late.didExecute && !late.isCancelled)
    world.finishAll([work, late])
    #expect(late.kind == .succeeded)
  }

  @Test
  func `an operation with cancelHolder waits behind its like and leaves no trace when cancelled`() {
    let world = World()
    let holder = Work.open("holder", policy: .whenFinishIsCalled)
    holder.addClaim(MutuallyExclusive("a"))
    world.run(holder)
    let works = (0..<3).map {
      Work.claiming("w\($0)", MutuallyExclusive("a", whenBusy: .cancelHolder))
    }
    for work in works { world.run(work) }
    works[1].cancel()
    holder.finish()
    world.simulation.run()
    #expect(works[0].isExecuting)
    #expect(works[1].kind == .cancelled && works[1].executions.count == 0)
    world.finishAll(works)
    #expect(works[2].kind == .succeeded)
  }

  @Test func `an operation with cancelHolder doesn't cancel waiting operations`() {
    let world = World()
    let pool = world.pool(10)
    let holder = Work.claiming("holder", ResourceUnits(5, of: pool))
    let large = Work.claiming("large", ResourceUnits(8, of: pool))
    let work = Work.claiming("work", ResourceUnits(1, of: pool, whenBusy: .cancelHolder))
    for work in [holder, large, work] { world.run(work) }
    #expect(!holder.isCancelled && !large.isCancelled)
    world.finishAll([holder, large, work])
    #expect([holder, large, work].allSatisfy { $0.kind == .succeeded })
  }
}
