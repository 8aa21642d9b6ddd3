import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// What a group holds its children may enter; what goes beyond that comes at its turn.
@Suite(.watched) struct `Children whose claims exceed those of their group` {
  /// A child that adds the next one to its group, so often, and ends.
  private static func chain(
    _ name: String,
    _ count: Int,
    _ claim: any OperationClaim,
    _ order: Log<String>
  ) -> Work {
    let child = Work("\(name) \(count)") { work in
      order.add(name)
      do {
        if count > 1 { try work.produce(chain(name, count - 1, claim, order)) }
      } catch { Issue.record(error) }
      work.finish()
    }
    child.addClaim(claim)
    return child
  }

  private static func group(
    _ claim: any OperationClaim,
    named name: String = "group",
    in world: World
  ) -> (group: GroupOperation, gate: Work) {
    let gate = Work.open("gate of \(name)")
    let group = GroupOperation(name: name) { gate }
    group.addClaim(claim)
    world.run(group)
    return (group, gate)
  }

  private static func stranger(_ claim: any OperationClaim, _ order: Log<String>) -> Work {
    let stranger = Work("stranger") { work in
      order.add("stranger")
      work.finish()
    }
    stranger.addClaim(claim)
    return stranger
  }

  @Test(arguments: [false, true], seeds)
  func `a child overtakes an operation that waits for its group's units`(
    isByHand: Bool,
    seed: UInt64
  ) {
    let world = World(seed: seed)
    let pool = world.pool(3)
    let (group, gate) = Self.group(ResourceUnits(2, of: pool), in: world)
    let stranger = Work.claiming("stranger", ResourceUnits(2, of: pool))
    if isByHand {
      stranger.environment = world.simulation.environment
      stranger.start()
    } else {
      world.queue.addOperation(stranger)
    }
    world.simulation.run()
    #expect(stranger.state == .ready)
    let child = Work.claiming("child", ResourceUnits(3, of: pool))
    #expect(group.addOperation(child))
    world.simulation.run()
    #expect(child.isExecuting)
    world.finishAll([gate, child, stranger])
    #expect(stranger.didExecute)
    #expect(group.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `a child lets in an outside operation that requested the units before it`(seed: UInt64) {
    let world = World(seed: seed)
    let pool = world.pool(2)
    let order = Log<String>()
    let (group, gate) = Self.group(ResourceUnits(1, of: pool), in: world)
    let first = Work.claiming("first", ResourceUnits(2, of: pool))
    #expect(group.addOperation(first))
    world.simulation.run()
    #expect(first.isExecuting)
    world.run(Self.stranger(ResourceUnits(1, of: pool), order))
    #expect(group.addOperation(Self.chain("child", 100, ResourceUnits(2, of: pool), order)))
    world.simulation.run()
    world.finishAll([first, gate])
    #expect(order.entries == ["stranger"] + Array(repeating: "child", count: 100))
    #expect(group.kind == .succeeded)
  }

  @Test func `a child may use its group's units although an outside operation waits`() {
    let world = World()
    let pool = world.pool(3)
    let (group, gate) = Self.group(ResourceUnits(2, of: pool), in: world)
    let outside = Work.claiming("outside", ResourceUnits(2, of: pool))
    world.run(outside)
    let inside = Work.claiming("inside", ResourceUnits(2, of: pool))
    #expect(group.addOperation(inside))
    world.simulation.run()
    #expect(inside.isExecuting)
    #expect(!outside.didExecute)
    world.finishAll([inside, gate, outside])
    #expect(group.kind == .succeeded)
  }

  /// Addresses differ from run to run, and decide nothing.
  @Test(arguments: [1, 7] as [UInt64])
  func `children of several groups get missing units in the order of their requests`(seed: UInt64) {
    var ballast: [Work] = []
    for round in 0..<60 {
      let world = World(seed: seed)
      let pool = world.pool(5)
      let order = Log<String>()
      let holder = Work.claiming("holder", ResourceUnits(1, of: pool))
      world.run(holder)
      ballast += (0..<round % 7).map { _ in Work() }
      let groups = ["A", "B", "C", "D"].map {
        Self.group(ResourceUnits(1, of: pool), named: $0, in: world)
      }
      for (name, group) in zip(["A", "B", "C", "D"], groups) {
        #expect(
          group.group.addOperation(Self.chain(name, 1, ResourceUnits(2, of: pool), order))
        )
        world.simulation.run()
      }
      world.finishAll([holder])
      #expect(order.entries == ["A", "B", "C", "D"])
      world.finishAll(groups.map(\.gate))
    }
  }

  @Test func `a child overtakes outside operations that wait for its group's units`() {
    let world = World()
    let pool = world.pool(4)
    let (group, gate) = Self.group(ResourceUnits(2, of: pool), in: world)
    let user = Work.claiming("user", ResourceUnits(1, of: pool))
    world.run(user)
    // It waits for the group's end.
    let large = Work.claiming("large", ResourceUnits(4, of: pool))
    world.run(large)
    let child = Work.claiming("child", ResourceUnits(3, of: pool))
    #expect(group.addOperation(child))
    world.simulation.run()
    #expect(child.isExecuting)
    world.finishAll([child, gate])
    #expect(!large.didExecute)
    world.finishAll([user])
    #expect(large.isExecuting)
    world.finishAll([large])
  }
}
