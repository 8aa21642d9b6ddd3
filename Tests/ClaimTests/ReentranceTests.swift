import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `A child of a group that holds a claim` {
  /// A group with a claim that is executing.
  private static func group(
    _ claim: any OperationClaim,
    in world: World,
    @OperationBuilder _ children: () -> [Operation]
  ) -> GroupOperation {
    let group = GroupOperation(name: "group", children)
    group.addClaim(claim)
    world.run(group)
    return group
  }

  @Test func `children of a group that holds a claim enter it one at a time`() {
    let world = World()
    let children = (0..<3).map { Work.claiming("c\($0)", MutuallyExclusive("a")) }
    let group = Self.group(MutuallyExclusive("a"), in: world) { children }
    for number in 0..<3 {
      #expect(children.filter(\.isExecuting).count == 1)
      #expect(children.filter(\.didExecute).count == number + 1)
      children.first(where: \.isExecuting)?.finish()
      world.simulation.run()
    }
    #expect(group.kind == .succeeded)
  }

  @Test func `a child enters its group's claim before operations that wait outside`() {
    let world = World()
    let children = (0..<2).map { Work.claiming("c\($0)", MutuallyExclusive("a")) }
    let group = Self.group(MutuallyExclusive("a"), in: world) { children[0] }
    let outside = Work.claiming("outside", MutuallyExclusive("a"))
    world.run(outside)
    #expect(group.addOperation(children[1]))
    world.simulation.run()
    children[0].finish()
    world.simulation.run()
    #expect(children[1].isExecuting)
    #expect(!outside.didExecute)
    children[1].finish()
    world.simulation.run()
    #expect(group.kind == .succeeded)
    #expect(outside.isExecuting)
    world.finishAll([outside])
  }

  @Test(arguments: seeds)
  func `nested children enter their outer group's claim one at a time`(seed: UInt64) {
    let world = World(seed: seed)
    let inside = Counter()
    func leaf(_ name: String) -> ResultOperation<Void> {
      let leaf = ResultOperation(name: name) {
        inside.add()
        await Task.yield()
        inside.add(-1)
      }
      leaf.addClaim(MutuallyExclusive("a"))
      return leaf
    }
    let holdingSubgroup = GroupOperation(name: "holding") {
      leaf("x")
      leaf("y")
    }
    holdingSubgroup.addClaim(MutuallyExclusive("a"))
    let plainSubgroup = GroupOperation(name: "plain") {
      leaf("p")
      GroupOperation(name: "deep") { leaf("q") }
    }
    let group = Self.group(MutuallyExclusive("a"), in: world) {
      holdingSubgroup
      plainSubgroup
      leaf("z")
    }
    #expect(group.kind == .succeeded)
    #expect(inside.peak == 1)
  }

  @Test func `a child fails or is skipped only if another child holds the claim`() {
    let world = World()
    let first = Work.claiming("first", MutuallyExclusive("a", whenBusy: .fail))
    let group = Self.group(MutuallyExclusive("a"), in: world) { first }
    #expect(first.isExecuting)
    let failing = Work.claiming("failing", MutuallyExclusive("a", whenBusy: .fail))
    let skipped = Work.claiming("skipped", MutuallyExclusive("a", whenBusy: .skip))
    for work in [failing, skipped] { _ = group.addOperation(work) }
    world.simulation.run()
    #expect(failing.claimError == .busy(holders: ["first"]))
    #expect(skipped.kind == .skipped)
    world.finishAll([first])
    #expect(group.kind == .failed)
  }

  @Test func `a child with cancelHolder cancels other children and never its own group`() {
    let world = World()
    let first = Work.claiming("first", MutuallyExclusive("a"))
    let group = Self.group(MutuallyExclusive("a"), in: world) { first }
    let urgent = Work.claiming("urgent", MutuallyExclusive("a", whenBusy: .cancelHolder))
    #expect(group.addOperation(urgent))
    world.simulation.run()
    #expect(first.kind == .cancelled)
    #expect(urgent.isExecuting)
    #expect(!group.isCancelled)
    world.finishAll([urgent])
    #expect(group.isFinished)
  }

  @Test func `children of a limited category share their group's place one at a time`() {
    let world = World()
    let limit = MutuallyExclusive("a", limit: 3)
    let other = Work.claiming("other", limit)
    world.run(other)
    let children = (0..<3).map { Work.claiming("c\($0)", limit) }
    let group = Self.group(limit, in: world) { children }
    #expect(children.filter(\.isExecuting).count == 1)
    // The third place is for others.
    let outside = Work.claiming("outside", limit)
    world.run(outside)
    #expect(outside.isExecuting)
    world.finishAll([other, outside] + children)
    #expect(group.kind == .succeeded)
  }

  @Test func `a child obeys the limit of its own claim`() {
    let world = World()
    let other = Work.claiming("other", MutuallyExclusive("a", limit: 2))
    world.run(other)
    let child = Work.claiming("child", MutuallyExclusive("a", limit: 1))
    let group = Self.group(MutuallyExclusive("a", limit: 2), in: world) { child }
    #expect(!child.didExecute)
    other.finish()
    world.simulation.run()
    #expect(child.isExecuting)
    world.finishAll([child])
    #expect(group.kind == .succeeded)
  }

  @Test func `several children use their group's units at the same time`() {
    let world = World()
    let pool = world.pool(3)
    let children = (0..<4).map { Work.claiming("c\($0)", ResourceUnits(1, of: pool)) }
    let group = Self.group(ResourceUnits(3, of: pool), in: world) { children }
    let outside = Work.claiming("outside", ResourceUnits(1, of: pool))
    world.run(outside)
    #expect(children.filter(\.isExecuting).count == 3)
    children[0].finish()
    world.simulation.run()
    #expect(children[3].isExecuting)
    #expect(!outside.didExecute)
    world.finishAll(children)
    #expect(group.kind == .succeeded)
    #expect(outside.isExecuting)
    world.finishAll([outside])
  }

  @Test func `a child takes only the missing units from the pool`() {
    let world = World()
    let pool = world.pool(5)
    let child = Work.claiming("child", ResourceUnits(4, of: pool))
    let group = Self.group(ResourceUnits(3, of: pool), in: world) { child }
    #expect(child.isExecuting)
    let one = Work.claiming("one", ResourceUnits(1, of: pool, whenBusy: .skip))
    let two = Work.claiming("two", ResourceUnits(1, of: pool, whenBusy: .skip))
    world.run(one)
    world.run(two)
    #expect(one.isExecuting)
    #expect(two.kind == .skipped)
    child.finish()
    world.simulation.run()
    #expect(group.kind == .succeeded)
    world.finishAll([one])
    // All is given back.
    let all = Work.claiming("all", ResourceUnits(5, of: pool, whenBusy: .fail))
    world.run(all)
    #expect(all.isExecuting)
    world.finishAll([all])
  }

  @Test func `an operation that a child produced uses its group's claim`() {
    let world = World()
    let produced = Work.claiming("produced", MutuallyExclusive("a"))
    let child = Work("child") { child in
      do { try child.produce(produced) } catch { Issue.record(error) }
      child.finish()
    }
    let group = Self.group(MutuallyExclusive("a"), in: world) { child }
    #expect(produced.isExecuting)
    world.finishAll([produced])
    #expect(group.kind == .succeeded)
  }

  @Test func `a child takes its own token from a rate limit`() {
    let world = World()
    let limit = RateLimit("calls", 1, per: .seconds(1))
    let child = Work("child")
    child.addClaim(limit)
    let group = Self.group(limit, in: world) { child }
    #expect(group.kind == .succeeded)
    #expect(world.simulation.now == .seconds(1))
  }

  @Test func `a child that is cancelled while it waits admits no other child`() {
    let world = World()
    let children = (0..<3).map { Work.claiming("c\($0)", MutuallyExclusive("a")) }
    let group = Self.group(MutuallyExclusive("a"), in: world) { children }
    let inside = children.first(where: \.isExecuting)
    let waiting = children.filter { !$0.isExecuting }
    waiting[1].cancel()
    world.simulation.run()
    #expect(!waiting[0].didExecute)
    inside?.finish()
    world.simulation.run()
    #expect(waiting[0].isExecuting)
    world.finishAll(waiting)
    #expect(group.isFinished)
  }
}
