import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// What is taken is given back once, in whatever order operations give back.
@Suite(.watched) struct `The ledger of claims` {
  private static func group(
    _ name: String,
    _ count: Int,
    of pool: ResourcePool
  ) -> (
    group: GroupOperation, gate: Work
  ) {
    let gate = Work.open("gate of \(name)")
    let group = GroupOperation(name: name) { gate }
    group.addCondition(ResourceUnits(count, of: pool))
    return (group, gate)
  }

  private static func add(_ operation: AdvancedOperation, to group: GroupOperation, _ world: World)
  {
    #expect(group.addOperation(operation))
    world.simulation.run()
  }

  /// That so many units are free, and no more.
  private static func expectFree(_ count: Int, of pool: ResourcePool, in world: World) {
    let works = (0..<count + 1).map { number in
      Work.claiming("unit \(number)", ResourceUnits(1, of: pool, whenBusy: .skip))
    }
    for work in works { world.run(work) }
    #expect(works.count { $0.isExecuting } == count)
    world.finishAll(works)
  }

  @Test func `counts what a group has lent as used when the group gives back first`() {
    let world = World()
    let pool = world.pool(4)
    let (group, gate) = Self.group("group", 3, of: pool)
    world.run(group)
    let child = Work.claiming("child", ResourceUnits(2, of: pool))
    Self.add(child, to: group, world)
    Self.expectFree(1, of: pool, in: world)
    world.simulation.environment.exclusivity.release(group)
    Self.expectFree(2, of: pool, in: world)
    child.finish()
    world.simulation.run()
    Self.expectFree(4, of: pool, in: world)
    // It gives back once more.
    world.finishAll([gate])
    #expect(group.isFinished)
    Self.expectFree(4, of: pool, in: world)
  }

  @Test func `owes to the outer group what an inner one has lent that gives back first`() {
    let world = World()
    let pool = world.pool(5)
    let (outer, outerGate) = Self.group("outer", 3, of: pool)
    let (inner, innerGate) = Self.group("inner", 4, of: pool)
    world.run(outer)
    Self.add(inner, to: outer, world)
    let leaf = Work.claiming("leaf", ResourceUnits(4, of: pool))
    Self.add(leaf, to: inner, world)
    #expect(leaf.isExecuting)
    // Three of the outer group, and one of the pool.
    world.simulation.environment.exclusivity.release(inner)
    let sibling = Work.claiming("sibling", ResourceUnits(2, of: pool, whenBusy: .skip))
    Self.add(sibling, to: outer, world)
    #expect(sibling.kind == .skipped)
    Self.expectFree(1, of: pool, in: world)
    leaf.finish()
    world.simulation.run()
    Self.expectFree(2, of: pool, in: world)
    let large = Work.claiming("large", ResourceUnits(5, of: pool, whenBusy: .skip))
    Self.add(large, to: outer, world)
    #expect(large.isExecuting)
    world.finishAll([large, innerGate, outerGate])
    Self.expectFree(5, of: pool, in: world)
  }

  @Test func `has children wait on with all others when their group gives back first`() {
    let world = World()
    let pool = world.pool(3)
    let (group, gate) = Self.group("group", 2, of: pool)
    world.run(group)
    let inside = Work.claiming("inside", ResourceUnits(2, of: pool))
    let children = (0..<2).map { Work.claiming("child \($0)", ResourceUnits(2, of: pool)) }
    for work in [inside] + children { Self.add(work, to: group, world) }
    let outside = Work.claiming("outside", ResourceUnits(1, of: pool))
    world.run(outside)
    #expect(!outside.didExecute)
    world.simulation.environment.exclusivity.release(group)
    world.simulation.run()
    #expect((children + [outside]).allSatisfy { !$0.didExecute })
    inside.finish()
    world.simulation.run()
    #expect(children[0].isExecuting)
    #expect(!children[1].didExecute && !outside.didExecute)
    children[0].finish()
    world.simulation.run()
    #expect(children[1].isExecuting && outside.isExecuting)
    world.finishAll([children[1], outside, gate])
    Self.expectFree(3, of: pool, in: world)
  }

  @Test(arguments: seeds) func `gives back once, however often it is told`(seed: UInt64) {
    var random = Random(seed)
    let world = World(seed: seed)
    let pool = world.pool(5)
    let domain = world.simulation.environment.exclusivity
    var works: [Work] = []
    for number in 0..<40 {
      let work = Work.claiming(
        "w\(number)",
        ResourceUnits(Int.random(in: 1...5, using: &random), of: pool)
      )
      works.append(work)
      world.run(work)
      guard let other = works.randomElement(using: &random) else { continue }
      // What waits is not taken out of its line here, or it would never end.
      if other.isFinished || other.isExecuting {
        for _ in 0..<Int.random(in: 0...2, using: &random) {
          if Bool.random(using: &random) { other.withdrawClaims() }
          if other.isFinished || Bool.random(using: &random) { other.cancel() }
          world.simulation.run()
          if other.isFinished { domain.release(other) }
        }
      }
      world.simulation.run()
    }
    world.finishAll(works)
    #expect(works.allSatisfy { $0.isFinished })
    Self.expectFree(5, of: pool, in: world)
  }

  #if DEBUG
  /// How often the account looks whether somebody may have something, counted.
  private static func looks(_ count: Int, _ groupCount: Int) -> Int {
    let world = World()
    let pool = world.pool(groupCount + 1)
    let groups = (0..<groupCount).map { group("g\($0)", 1, of: pool) }
    for (group, _) in groups { world.run(group) }
    let holder = Work.claiming("holder", ResourceUnits(1, of: pool))
    world.run(holder)
    for number in 0..<count {
      let child = Work("child \(number)")
      child.addCondition(ResourceUnits(2, of: pool))
      #expect(groups[number % groupCount].group.addOperation(child))
      let stranger = Work("stranger \(number)")
      stranger.addCondition(ResourceUnits(1, of: pool))
      world.queue.addOperation(stranger)
    }
    world.simulation.run()
    world.finishAll([holder] + groups.map(\.gate))
    #expect(groups.allSatisfy { $0.group.kind == .succeeded })
    return world.simulation.environment.exclusivity.lookCount
  }

  @Test func `looks at each waiter so often, however many wait in however many lines`() {
    // When it comes, as the first, when it is let in, and at the end of the look at each line then.
    for (count, groups) in [(20, 1), (80, 1), (20, 20), (40, 40)] {
      let looks = Self.looks(count, groups)
      #expect(looks <= 12 * 2 * count + 4 * groups)
    }
  }
  #endif
}
