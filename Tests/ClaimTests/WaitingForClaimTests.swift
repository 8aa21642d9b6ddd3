import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `Waiting for a claim` {
  private static func claiming(_ name: String, _ claim: String = "a") -> Work {
    let work = Work.open(name)
    work.addClaim(MutuallyExclusive(claim))
    return work
  }

  @Test func `a claim is acquired in the order of requests`() {
    let world = World()
    let works = (0..<5).map { Self.claiming("w\($0)") }
    for work in works { world.run(work) }
    for (number, work) in works.enumerated() {
      #expect(work.isExecuting)
      #expect(works.count(where: { $0.didExecute }) == number + 1)
      work.finish()
      world.simulation.run()
    }
  }

  @Test func `an operation that waits for a claim holds no slot`() {
    let world = World(limit: 2)
    let holder = Self.claiming("holder")
    let waiters = (0..<3).map { Self.claiming("w\($0)") }
    world.run(holder)
    world.queue.addOperations(waiters)
    world.simulation.run()
    let other = Work("other")
    world.run(other)
    #expect(other.kind == .succeeded)
    #expect(waiters.allSatisfy { $0.state == .ready })
    for work in [holder] + waiters {
      work.finish()
      world.simulation.run()
    }
    #expect(waiters.allSatisfy { $0.kind == .succeeded })
  }

  @Test(arguments: Effort.seeds(10))
  func `an operation that holds a claim waits for a late dependency`(seed: UInt64) {
    let world = World(seed: seed)
    let holder = Work.claiming("holder", MutuallyExclusive("a"))
    let work = Work.claiming("work", MutuallyExclusive("a"))
    let next = Work.claiming("next", MutuallyExclusive("a"))
    for work in [holder, work, next] { world.run(work) }
    let late = Work.open("late")
    holder.finish()
    work.addDependency(late)
    world.simulation.run()
    #expect(!work.didExecute)
    // What it was given is given to those behind it.
    #expect(next.isExecuting)
    world.run(late)
    world.finishAll([late, next, work])
    #expect([late, next, work].allSatisfy { $0.kind == .succeeded })
  }

  @Test func `cancelling the second waiter doesn't admit the first`() {
    let world = World()
    let (a, b, c) = (Self.claiming("A"), Self.claiming("B"), Self.claiming("C"))
    for work in [a, b, c] { world.run(work) }
    c.cancel()
    world.simulation.run()
    #expect(c.kind == .cancelled)
    #expect(a.isExecuting)
    #expect(!b.didExecute)
    a.finish()
    world.simulation.run()
    #expect(b.isExecuting)
    b.finish()
    world.simulation.run()
    #expect(b.kind == .succeeded)
  }

  @Test func `cancelling the first waiter lets the second acquire the claim`() {
    let world = World()
    let (a, b, c) = (Self.claiming("A"), Self.claiming("B"), Self.claiming("C"))
    for work in [a, b, c] { world.run(work) }
    b.cancel()
    world.simulation.run()
    #expect(b.state == .finished)
    #expect(!c.didExecute)
    a.finish()
    world.simulation.run()
    #expect(c.isExecuting)
    c.finish()
    world.simulation.run()
  }

  @Test func `a suspended queue never holds a claim`() {
    let world = World()
    let suspended = world.makeQueue()
    let holder = Self.claiming("holder")
    world.run(holder)
    let first = Self.claiming("first")
    suspended.addOperation(first)
    world.simulation.run()
    suspended.isSuspended = true
    let second = Self.claiming("second")
    world.run(second)
    holder.finish()
    world.simulation.run()
    #expect(!first.didExecute)
    #expect(second.isExecuting)
    suspended.isSuspended = false
    world.simulation.run()
    #expect(!first.didExecute)
    second.finish()
    world.simulation.run()
    #expect(first.isExecuting)
    first.finish()
    world.simulation.run()
  }

  @Test func `an operation in a full queue holds no claim and keeps its place`() {
    let world = World()
    let full = world.makeQueue(limit: 1)
    let holder = Self.claiming("holder")
    world.run(holder)
    let first = Self.claiming("first")
    full.addOperation(first)
    world.simulation.run()
    let busy = Work.open("busy")
    full.addOperation(busy)
    world.simulation.run()
    #expect(busy.isExecuting)
    let second = Self.claiming("second")
    world.run(second)
    holder.finish()
    world.simulation.run()
    #expect(second.isExecuting)
    busy.finish()
    world.simulation.run()
    #expect(!first.didExecute)
    second.finish()
    world.simulation.run()
    #expect(first.isExecuting)
    first.finish()
    world.simulation.run()
  }

  @Test func `a late dependency delays the start without holding the claim`() {
    let world = World()
    let holder = Self.claiming("holder")
    let waiter = Self.claiming("waiter")
    let late = Work.open("late")
    world.run(holder)
    world.run(waiter, late)
    waiter.addDependency(late)
    holder.finish()
    world.simulation.run()
    #expect(!waiter.didExecute)
    let other = Self.claiming("other")
    world.run(other)
    #expect(other.isExecuting)
    other.finish()
    world.simulation.run()
    #expect(!waiter.didExecute)
    late.finish()
    world.simulation.run()
    #expect(waiter.isExecuting)
    waiter.finish()
    world.simulation.run()
  }

  @Test func `an operation starts after its late dependency was removed`() {
    let world = World()
    let holder = Self.claiming("holder")
    let waiter = Self.claiming("waiter")
    let late = Work.open("late")
    world.run(holder)
    world.run(waiter, late)
    waiter.addDependency(late)
    holder.finish()
    world.simulation.run()
    waiter.removeDependency(late)
    world.simulation.run()
    #expect(waiter.isExecuting)
    for work in [waiter, late] { work.finish() }
    world.simulation.run()
    #expect(world.queue.operationCount == 0)
  }

  @Test func `a higher priority doesn't overtake other waiters for a claim`() {
    let world = World()
    let (a, b, c) = (Self.claiming("A"), Self.claiming("B"), Self.claiming("C"))
    c.queuePriority = .veryHigh
    for work in [a, b, c] { world.run(work) }
    a.finish()
    world.simulation.run()
    #expect(b.isExecuting)
    for work in [b, c] {
      work.finish()
      world.simulation.run()
    }
    #expect(c.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `a thousand waiters behind a blocked one all acquire the claim`(seed: UInt64) {
    guard seed <= 3 else { return }
    let world = World(seed: seed)
    let stuck = world.makeQueue()
    let holder = Self.claiming("holder")
    world.run(holder)
    let front = Self.claiming("front")
    stuck.addOperation(front)
    world.simulation.run()
    stuck.isSuspended = true
    let works = (0..<1_000).map { number in
      let work = Work("w\(number)")
      work.addClaim(MutuallyExclusive("a"))
      return work
    }
    world.queue.addOperations(works)
    world.simulation.run()
    holder.finish()
    world.simulation.run()
    #expect(works.allSatisfy { $0.kind == .succeeded })
    #expect(!front.didExecute)
    stuck.isSuspended = false
    world.simulation.run()
    #expect(front.isExecuting)
    front.finish()
    world.simulation.run()
  }

  @Test(arguments: seeds)
  func `an operation returns to its place among the waiters when its queue resumes`(
    seed: UInt64
  ) {
    let world = World(seed: seed)
    let other = world.makeQueue()
    let (holder, first) = (Self.claiming("holder"), Self.claiming("first"))
    let (second, third) = (Self.claiming("second"), Self.claiming("third"))
    world.run(holder)
    other.addOperation(first)
    world.simulation.run()
    world.run(second)
    other.isSuspended = true
    holder.finish()
    world.simulation.run()
    #expect(second.isExecuting, "it overtakes the operation whose queue is suspended")
    world.run(third)
    other.isSuspended = false
    world.simulation.run()
    second.finish()
    world.simulation.run()
    #expect(first.isExecuting)
    #expect(!third.isExecuting)
    first.finish()
    world.simulation.run()
    #expect(third.isExecuting)
    third.finish()
    world.simulation.run()
  }
}
