import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `The capacity of a resource pool` {
  private static func claiming(_ name: String, _ units: Int, of pool: ResourcePool) -> Work {
    Work.claiming(name, ResourceUnits(units, of: pool))
  }

  @Test(arguments: seeds)
  func `a raised capacity admits waiting operations in order`(seed: UInt64) {
    let world = World(seed: seed)
    let pool = world.pool(1)
    let works = (0..<4).map { Self.claiming("w\($0)", 1, of: pool) }
    for work in works { world.run(work) }
    #expect(works.map(\.isExecuting) == [true, false, false, false])
    pool.capacity = 3
    world.simulation.run()
    #expect(pool.capacity == 3)
    #expect(works.map(\.isExecuting) == [true, true, true, false])
    world.finishAll(works)
    #expect(works.allSatisfy { $0.kind == .succeeded })
  }

  @Test
  func `a lowered capacity leaves running operations alone and admits none until units are free`() {
    let world = World()
    let pool = world.pool(4)
    let works = (0..<6).map { Self.claiming("w\($0)", 1, of: pool) }
    for work in works { world.run(work) }
    pool.capacity = 2
    world.simulation.run()
    #expect(works.count { $0.isExecuting } == 4)
    for index in 0..<2 {
      works[index].finish()
      world.simulation.run()
      #expect(works[4...].allSatisfy { !$0.didExecute })
    }
    works[2].finish()
    world.simulation.run()
    #expect(works.map(\.isExecuting) == [false, false, false, true, true, false])
    world.finishAll(works)
    #expect(works.allSatisfy { $0.kind == .succeeded })
  }

  @Test(arguments: [false, true])
  func `a lowered capacity fails an operation that needs more and admits the next`(
    byHand: Bool
  ) {
    let world = World()
    let pool = world.pool(5)
    let holder = Self.claiming("holder", 2, of: pool)
    let large = Self.claiming("large", 5, of: pool)
    let small = Self.claiming("small", 1, of: pool)
    world.run(holder)
    if byHand {
      large.environment = world.simulation.environment
      large.start()
      world.simulation.run()
    } else {
      world.run(large)
    }
    world.run(small)
    #expect(large.state == .ready && !small.didExecute)
    pool.capacity = 4
    world.simulation.run()
    #expect(large.claimError == .exceedsCapacity(needed: 5, capacity: 4))
    #expect(small.isExecuting)
    world.finishAll([holder, small])
    let late = Self.claiming("late", 5, of: pool)
    world.run(late)
    #expect(late.claimError == .exceedsCapacity(needed: 5, capacity: 4))
  }

  @Test func `a lowered capacity fails an operation that waits for another claim and needs more`() {
    let world = World()
    let pool = world.pool(5)
    let holder = Work.claiming("holder", MutuallyExclusive("a"))
    let both = Work.claiming("both", MutuallyExclusive("a"), ResourceUnits(5, of: pool))
    world.run(holder)
    world.run(both)
    pool.capacity = 1
    world.simulation.run()
    #expect(both.claimError == .exceedsCapacity(needed: 5, capacity: 1))
    world.finishAll([holder])
  }

  @Test func `a lowered capacity leaves children the units that their group holds`() {
    let world = World()
    let pool = world.pool(4)
    let children = (0..<4).map { Self.claiming("c\($0)", 2, of: pool) }
    let group = GroupOperation(name: "group") { children }
    group.addClaim(ResourceUnits(4, of: pool))
    world.run(group)
    pool.capacity = 0
    world.simulation.run()
    #expect(children.count { $0.isExecuting } == 2)
    world.finishAll(children)
    #expect(children.allSatisfy { $0.kind == .succeeded })
    #expect(group.kind == .succeeded)
  }

  @Test func `a lowered capacity ends a wait that now completes a cycle`() {
    let world = World()
    let pool = world.pool(5)
    let holder = Self.claiming("holder", 3, of: pool)
    let waiter = Self.claiming("waiter", 3, of: pool)
    let child = Work("child")
    child.addDependency(waiter)
    let group = GroupOperation(name: "group") { child }
    group.addClaim(ResourceUnits(2, of: pool))
    world.run(holder)
    world.run(group)
    world.run(waiter)
    #expect(waiter.state == .ready)
    // When the holder has ended, only the group's units are missing, and the group waits for the
    // waiter.
    pool.capacity = 3
    world.simulation.run()
    let error = (waiter.errors.first as? OperationConditionError)?.underlying
    #expect(error is OperationCycleError)
    world.finishAll([holder])
    #expect(group.isFinished)
  }

  @Test func `the capacity can be changed from any callback of an operation that uses it`() {
    let world = World()
    let pool = world.pool(1)
    let first = Work("first")
    first.addClaim(ResourceUnits(1, of: pool))
    first.onStart { _ in pool.capacity = 0 }
    first.onFinish { _, _ in pool.capacity = 2 }
    let others = (0..<2).map { Self.claiming("w\($0)", 1, of: pool) }
    world.queue.addOperation(first)
    world.queue.addOperations(others)
    world.simulation.run()
    #expect(first.kind == .succeeded)
    #expect(pool.capacity == 2)
    world.finishAll(others)
    // What waited while there was no unit at all could never have had one.
    #expect(others.allSatisfy { $0.isFinished })
  }

  /// However it changes, nothing starts for which there are too few units at that moment.
  @Test(arguments: seeds)
  func `started operations never exceed the capacity when they start`(seed: UInt64) {
    let world = World(seed: seed)
    let pool = world.pool(4)
    let used = Counter()
    let violations = Counter()
    var random = Random(seed)
    for number in 0..<40 {
      let units = Int.random(in: 1...3, using: &random)
      let work = ResultOperation(name: "w\(number)") {
        await Task.yield()
        used.add(-units)
      }
      work.addClaim(ResourceUnits(units, of: pool))
      work.onStart { _ in if used.add(units) > pool.capacity { violations.add() } }
      world.queue.addOperation(work)
      if Bool.random(using: &random) { world.simulation.run() }
      pool.capacity = Int.random(in: 3...6, using: &random)
    }
    world.simulation.run()
    #expect(used.count == 0)
    #expect(violations.count == 0)
  }
}
