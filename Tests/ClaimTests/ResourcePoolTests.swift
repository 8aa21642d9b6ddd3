import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `Units of a resource pool` {
  @Test func `the pool's units limit the number of operations that hold some`() {
    let world = World()
    let pool = world.pool(10)
    let works = (0..<4).map { Work.claiming("w\($0)", ResourceUnits(3, of: pool)) }
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(works.count { $0.isExecuting } == 3)
    world.finishAll(works)
    #expect(works.allSatisfy { $0.kind == .succeeded })
  }

  @Test(arguments: seeds)
  func `operations never hold more units than the pool has`(seed: UInt64) {
    let world = World(seed: seed)
    let pool = world.pool(7)
    let used = Counter()
    var random = Random(seed)
    let works = (0..<40).map { number in
      let count = Int.random(in: 0...7, using: &random)
      let work = ResultOperation(name: "w\(number)") {
        used.add(count)
        await Task.yield()
        used.add(-count)
      }
      work.addClaim(ResourceUnits(count, of: pool))
      return work
    }
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(works.allSatisfy { $0.kind == .succeeded })
    #expect(used.peak <= 7)
    #expect(used.count == 0)
  }

  @Test func `later operations leave units to an earlier large claim`() {
    let world = World()
    let pool = world.pool(10)
    let first = Work.claiming("first", ResourceUnits(4, of: pool))
    let second = Work.claiming("second", ResourceUnits(4, of: pool))
    let large = Work.claiming("large", ResourceUnits(8, of: pool))
    let small = (0..<5).map { Work.claiming("small \($0)", ResourceUnits(1, of: pool)) }
    for work in [first, second, large] + small { world.run(work) }
    // Two units are free, and the small ones don't take them.
    #expect(small.allSatisfy { $0.state == .ready })
    first.finish()
    world.simulation.run()
    #expect(!large.didExecute && small.allSatisfy { !$0.didExecute })
    second.finish()
    world.simulation.run()
    #expect(large.isExecuting)
    #expect(small.map(\.didExecute) == [true, true, false, false, false])
    world.finishAll([large] + small)
    #expect(small.allSatisfy { $0.kind == .succeeded })
  }

  @Test func `units reserved for a cancelled large claim go to later operations`() {
    let world = World()
    let pool = world.pool(10)
    let holder = Work.claiming("holder", ResourceUnits(5, of: pool))
    let large = Work.claiming("large", ResourceUnits(8, of: pool))
    let small = Work.claiming("small", ResourceUnits(5, of: pool))
    for work in [holder, large, small] { world.run(work) }
    #expect(!small.didExecute)
    large.cancel()
    world.simulation.run()
    #expect(small.isExecuting)
    world.finishAll([holder, small])
  }

  @Test func `units aren't reserved for an operation whose queue is suspended`() {
    let world = World()
    let pool = world.pool(10)
    let suspended = world.makeQueue()
    let holder = Work.claiming("holder", ResourceUnits(5, of: pool))
    let large = Work.claiming("large", ResourceUnits(8, of: pool))
    let small = Work.claiming("small", ResourceUnits(5, of: pool))
    world.run(holder)
    suspended.addOperation(large)
    world.simulation.run()
    suspended.isSuspended = true
    world.run(small)
    #expect(small.isExecuting)
    suspended.isSuspended = false
    world.simulation.run()
    #expect(!large.didExecute)
    world.finishAll([holder, small, large])
    #expect(large.kind == .succeeded)
  }

  @Test func `units aren't reserved for an operation whose queue is full`() {
    let world = World()
    let pool = world.pool(10)
    let full = world.makeQueue(limit: 1)
    let holder = Work.claiming("holder", ResourceUnits(5, of: pool))
    let large = Work.claiming("large", ResourceUnits(8, of: pool))
    let busy = Work.open("busy")
    let small = Work.claiming("small", ResourceUnits(5, of: pool))
    world.run(holder)
    full.addOperation(large)
    world.simulation.run()
    full.addOperation(busy)
    world.simulation.run()
    #expect(busy.isExecuting)
    world.run(small)
    #expect(small.isExecuting)
    world.finishAll([holder, small, busy, large])
    #expect(large.kind == .succeeded)
  }

  @Test func `units aren't reserved for an operation that waits for another claim`() {
    let world = World()
    let pool = world.pool(10)
    let holder = Work.claiming("holder", MutuallyExclusive("database"))
    let user = Work.claiming("user", ResourceUnits(5, of: pool))
    let both = Work.claiming(
      "both",
      ResourceUnits(8, of: pool),
      MutuallyExclusive("database")
    )
    let small = Work.claiming("small", ResourceUnits(5, of: pool))
    for work in [holder, user, both, small] { world.run(work) }
    #expect(small.isExecuting)
    world.finishAll([holder, user, both, small])
    #expect(both.kind == .succeeded)
  }

  @Test(arguments: WhenBusy.allCases, [false, true])
  func `a claim for more units than the pool's capacity is an error`(
    whenBusy: WhenBusy,
    isBusy: Bool
  ) {
    let world = World()
    let pool = world.pool(2)
    let holder = Work.claiming("holder", ResourceUnits(2, of: pool))
    if isBusy { world.run(holder) }
    let work = Work.claiming("work", ResourceUnits(3, of: pool, whenBusy: whenBusy))
    world.run(work)
    #expect(work.kind == .failed)
    #expect(work.claimError == .exceedsCapacity(needed: 3, capacity: 2))
    #expect(
      "\(work.errors[0])" == "condition “pool”: 3 units are needed, and there are 2 in all."
    )
    #expect(!holder.isCancelled)
    world.finishAll([holder])
  }

  @Test func `units that are claimed several times add up`() {
    let world = World()
    let pool = world.pool(5)
    let work = Work.claiming("work", ResourceUnits(2, of: pool), ResourceUnits(2, of: pool))
    let two = Work.claiming("two", ResourceUnits(2, of: pool, whenBusy: .skip))
    let one = Work.claiming("one", ResourceUnits(1, of: pool, whenBusy: .skip))
    for work in [work, two, one] { world.run(work) }
    #expect(two.kind == .skipped)
    #expect(one.isExecuting)
    let many = Work.claiming("many", ResourceUnits(.max, of: pool), ResourceUnits(.max, of: pool))
    world.run(many)
    #expect(many.claimError == .exceedsCapacity(needed: .max, capacity: 5))
    world.finishAll([work, one])
  }

  @Test func `zero units are always free and one unit of an empty pool never is`() {
    let world = World()
    let empty = world.pool(0)
    let none = Work.claiming("none", ResourceUnits(0, of: empty, whenBusy: .fail))
    let one = Work.claiming("one", ResourceUnits(1, of: empty))
    world.run(none, one)
    #expect(none.isExecuting)
    #expect(one.claimError == .exceedsCapacity(needed: 1, capacity: 0))
    none.finish()
    world.simulation.run()
  }

  @Test func `units of two pools with equal names are independent`() {
    let world = World()
    let pools = [world.pool(1), world.pool(1)]
    let works = pools.map { Work.claiming("work", ResourceUnits(1, of: $0)) }
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(works.allSatisfy { $0.isExecuting })
    world.finishAll(works)
  }

  @Test func `units with fail cause an error that names all holders`() {
    let world = World()
    let pool = world.pool(3, "licences")
    let holders = (0..<3).map { Work.claiming("h\($0)", ResourceUnits(1, of: pool)) }
    for holder in holders { world.run(holder) }
    let work = Work.claiming("work", ResourceUnits(2, of: pool, whenBusy: .fail))
    world.run(work)
    #expect(work.claimError == .busy(holders: ["h0", "h1", "h2"]))
    #expect(work.origins == [.condition("licences")])
    world.finishAll(holders)
  }

  @Test func `units with fail or skip are busy if an earlier operation waits for them`() {
    let world = World()
    let pool = world.pool(10)
    let holder = Work.claiming("holder", ResourceUnits(5, of: pool))
    let large = Work.claiming("large", ResourceUnits(8, of: pool))
    let failing = Work.claiming("failing", ResourceUnits(1, of: pool, whenBusy: .fail))
    let skipped = Work.claiming("skipped", ResourceUnits(1, of: pool, whenBusy: .skip))
    for work in [holder, large, failing, skipped] { world.run(work) }
    #expect(failing.claimError == .busy(holders: ["holder"]))
    #expect(skipped.kind == .skipped)
    world.finishAll([holder, large])
  }

  @Test func `units with cancelHolder are taken over from all holders`() {
    let world = World()
    let pool = world.pool(3)
    let holders = (0..<3).map { Work.claiming("h\($0)", ResourceUnits(1, of: pool)) }
    for holder in holders { world.run(holder) }
    let work = Work.claiming("work", ResourceUnits(3, of: pool, whenBusy: .cancelHolder))
    world.run(work)
    #expect(holders.allSatisfy { $0.kind == .cancelled })
    #expect(work.isExecuting)
    world.finishAll([work])
  }

  @Test(arguments: seeds)
  func `operations that claim two pools in opposite order all finish`(
    seed: UInt64
  ) {
    let world = World(seed: seed)
    let pools = [world.pool(3), world.pool(3)]
    let queues = [world.makeQueue(), world.makeQueue()]
    var last: [ResultOperation<Void>?] = [nil, nil]
    var works: [ResultOperation<Void>] = []
    for number in 0..<20 {
      let side = number % 2
      let work = ResultOperation(name: "w\(number)") { await Task.yield() }
      for pool in side == 0 ? pools : pools.reversed() {
        work.addClaim(ResourceUnits(2, of: pool))
      }
      // The queues wait for each other.
      if number % 3 == 0, let other = last[1 - side] { work.addDependency(other) }
      last[side] = work
      queues[side].addOperation(work)
      works.append(work)
    }
    world.simulation.run()
    #expect(works.allSatisfy { $0.kind == .succeeded })
    #expect(queues.allSatisfy { $0.operationCount == 0 })
  }

  @Test(.watched) func `operations that claim units on threads all finish`() async throws {
    let domain = ClaimDomain()
    let queue = AdvancedOperationQueue(environment: OperationEnvironment(claimDomain: domain))
    let pool = ResourcePool(capacity: 5, domain: domain)
    let used = Counter()
    for number in 0..<2_000 {
      let count = number % 5 + 1
      let work = Work { work in
        used.add(count)
        used.add(-count)
        work.finish()
      }
      work.addClaim(ResourceUnits(count, of: pool))
      queue.addOperation(work)
      if number % 7 == 0 { work.cancel() }
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(used.peak <= 5)
    #expect(used.count == 0)
  }
}
