import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite(.watched) struct `A wait for a claim that would complete a cycle` {
  private static func cycle(_ operation: AdvancedOperation) -> [String]? {
    let error = operation.errors.first as? OperationConditionError
    return (error?.underlying as? OperationCycleError)?.path.map(\.name)
  }

  /// A group that holds something, and its child, which waits for an operation outside.
  private static func group(
    _ name: String = "group",
    claiming claim: any OperationClaim,
    waitingFor outside: Operation
  ) -> (group: GroupOperation, child: Work) {
    let child = Work("child")
    child.addDependency(outside)
    let group = GroupOperation(name: name) { child }
    group.addClaim(claim)
    return (group, child)
  }

  @Test(arguments: seeds)
  func `a wait for a group whose child depends on the waiting operation is refused`(seed: UInt64) {
    let world = World(seed: seed)
    let outside = Work.claiming("outside", MutuallyExclusive("db"))
    let (group, child) = Self.group(claiming: MutuallyExclusive("db"), waitingFor: outside)
    world.run(group)
    #expect(group.isExecuting)
    world.run(outside)
    #expect(outside.kind == .failed)
    #expect(outside.origins == [.condition("db")])
    #expect(Self.cycle(outside) == ["outside", "group", "child", "outside"])
    #expect(!outside.didExecute)
    #expect(child.kind == .succeeded)
    #expect(group.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `a manually started operation's wait is refused if it completes a cycle`(seed: UInt64) {
    let world = World(seed: seed)
    let outside = Work.claiming("outside", MutuallyExclusive("db"))
    outside.environment = world.simulation.environment
    let (group, child) = Self.group(claiming: MutuallyExclusive("db"), waitingFor: outside)
    world.run(group)
    outside.start()
    world.simulation.run()
    #expect(Self.cycle(outside) == ["outside", "group", "child", "outside"])
    #expect(child.kind == .succeeded)
    #expect(group.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `a manually started operation's wait is refused when a child completes the cycle`(
    seed: UInt64
  ) {
    let world = World(seed: seed)
    let first = Work.open("first")
    let group = GroupOperation(name: "group") { first }
    group.addClaim(MutuallyExclusive("db"))
    world.run(group)
    let outside = Work.claiming("outside", MutuallyExclusive("db"))
    outside.environment = world.simulation.environment
    outside.start()
    world.simulation.run()
    #expect(outside.state == .ready)
    let late = Work("late")
    late.addDependency(outside)
    #expect(group.addOperation(late))
    world.simulation.run()
    #expect(Self.cycle(outside) == ["outside", "group", "late", "outside"])
    world.finishAll([first])
    #expect(group.kind == .succeeded)
  }

  /// Its group keeps its own units until the child has ended, so they are no reason.
  @Test(arguments: seeds)
  func `a child's cycle error names the operation that holds the missing units`(
    seed: UInt64
  ) {
    let world = World(seed: seed)
    let pool = ResourcePool("pool", capacity: 2, domain: world.simulation.environment.claimDomain)
    let inner = Work.claiming("inner", MutuallyExclusive("b"))
    let other = GroupOperation(name: "other") { inner }
    other.addClaim(ResourceUnits(1, of: pool))
    let first = Work.open("first")
    let child = Work.claiming("child", ResourceUnits(2, of: pool))
    child.addDependency(first)
    let group = GroupOperation(name: "group") {
      first
      child
    }
    group.addClaim(MutuallyExclusive("b"))
    group.addClaim(ResourceUnits(1, of: pool))
    world.run(group)
    world.run(other)
    world.finishAll([first])
    #expect(Self.cycle(child) == ["child", "other", "inner", "group", "child"])
    world.finishAll([inner])
    #expect(other.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `a wait that completes a cycle is refused whichever operation arrives first`(seed: UInt64) {
    let world = World(seed: seed)
    let outside = Work.claiming("outside", MutuallyExclusive("db"))
    let (group, child) = Self.group(claiming: MutuallyExclusive("db"), waitingFor: outside)
    world.queue.addOperations([group, outside])
    world.simulation.advance(by: .zero)
    if outside.isExecuting { outside.finish() }
    world.simulation.run()
    #expect(outside.isFinished)
    #expect(
      Self.cycle(outside) ?? ["outside", "group", "child", "outside"]
        == ["outside", "group", "child", "outside"]
    )
    #expect(child.kind == .succeeded)
    #expect(group.kind == .succeeded)
  }

  @Test(arguments: [WhenBusy.wait, .cancelHolder], seeds)
  func `a wait is refused when a later child or dependency completes the cycle`(
    whenBusy: WhenBusy,
    seed: UInt64
  ) {
    for isLateDependency in [false, true] {
      let world = World(seed: seed)
      let first = Work.open("first")
      let waiting = Work("waiting")
      waiting.addDependency(first)
      let group = GroupOperation(name: "group") {
        first
        waiting
      }
      group.addClaim(MutuallyExclusive("db"))
      world.run(group)
      let outside = Work.claiming("outside", MutuallyExclusive("db"))
      world.run(outside)
      #expect(outside.state == .ready)
      let late = isLateDependency ? waiting : Work("late")
      late.addDependency(outside)
      if !isLateDependency { #expect(group.addOperation(late)) }
      world.simulation.run()
      #expect(outside.kind == .failed)
      #expect(Self.cycle(outside) == ["outside", "group", late.name ?? "", "outside"])
      first.finish()
      world.simulation.run()
      #expect(late.kind == .succeeded)
      #expect(group.kind == .succeeded)
    }
  }

  @Test func `a wait that completes a long cycle is refused`() {
    let world = World()
    let outside = Work.claiming("outside", MutuallyExclusive("db"))
    let between = Work("between")
    between.addDependency(outside)
    let leaf = Work("leaf")
    leaf.addDependency(between)
    let group = GroupOperation(name: "group") { GroupOperation(name: "inner") { leaf } }
    group.addClaim(MutuallyExclusive("db"))
    world.run(group)
    world.run(outside, between)
    #expect(Self.cycle(outside) == ["outside", "group", "inner", "leaf", "between", "outside"])
    #expect(group.kind == .succeeded)
  }

  @Test func `a wait that completes a cycle through two claims is refused`() {
    let world = World()
    let a = Work.claiming("a", MutuallyExclusive("a"))
    let b = Work.claiming("b", MutuallyExclusive("b"))
    let gate = Work.open("gate")
    for child in [a, b] { child.addDependency(gate) }
    world.run(gate)
    let groups = [("A", "a", b), ("B", "b", a)].map { name, claim, child in
      let group = GroupOperation(name: name) { child }
      group.addClaim(MutuallyExclusive(claim))
      return group
    }
    for group in groups { world.run(group) }
    gate.finish()
    world.simulation.run()
    // A holds a, and its child waits for b, which B holds, whose child waits for a.
    #expect([a, b].count { $0.kind == .failed } == 1)
    world.finishAll([a, b])
    #expect(groups.allSatisfy { $0.isFinished })
    let refused = a.kind == .failed ? a : b
    #expect(Self.cycle(refused)?.count == 5)
  }

  @Test func `a child's wait for more units than its group leaves is refused`() {
    let world = World()
    let pool = world.pool(10)
    let children = (0..<2).map { Work.claiming("c\($0)", ResourceUnits(6, of: pool)) }
    let gate = Work.open("gate")
    for child in children { child.addDependency(gate) }
    world.run(gate)
    let holder = GroupOperation(name: "one") { children[0] }
    let other = GroupOperation(name: "two") { children[1] }
    for group in [holder, other] {
      group.addClaim(ResourceUnits(5, of: pool))
      world.queue.addOperation(group)
    }
    world.simulation.run()
    gate.finish()
    world.simulation.run()
    // Each child lacks one unit, and all others are held by the groups.
    #expect(children.count { $0.kind == .failed } == 1)
    world.finishAll(children)
    #expect(children.count { $0.kind == .succeeded } == 1)
    #expect([holder, other].allSatisfy { $0.isFinished })
  }

  @Test func `a wait isn't refused if units of another holder suffice`() {
    let world = World()
    let pool = world.pool(3)
    let outside = Work.claiming("outside", ResourceUnits(1, of: pool))
    let group = Self.group(claiming: ResourceUnits(2, of: pool), waitingFor: outside).group
    world.run(group)
    let other = Work.claiming("other", ResourceUnits(1, of: pool))
    world.run(other)
    world.run(outside)
    #expect(outside.state == .ready)
    other.finish()
    world.simulation.run()
    #expect(outside.isExecuting)
    world.finishAll([outside])
    #expect(group.kind == .succeeded)
  }

  @Test func `a wait is refused if units of all other holders don't suffice`() {
    let world = World()
    let pool = world.pool(3)
    let outside = Work.claiming("outside", ResourceUnits(2, of: pool))
    let group = Self.group(claiming: ResourceUnits(2, of: pool), waitingFor: outside).group
    world.run(group)
    let other = Work.claiming("other", ResourceUnits(1, of: pool))
    world.run(other)
    world.run(outside)
    #expect(Self.cycle(outside) == ["outside", "group", "child", "outside"])
    world.finishAll([other])
    #expect(group.kind == .succeeded)
  }

  @Test func `a wait is refused if the units that others release don't suffice`() {
    let world = World()
    let pool = world.pool(4)
    let outside = Work.claiming("outside", ResourceUnits(3, of: pool))
    let groups = (0..<2).map { number in
      Self.group("group \(number)", claiming: ResourceUnits(1, of: pool), waitingFor: outside).group
    }
    for group in groups { world.run(group) }
    let other = Work.claiming("other", ResourceUnits(2, of: pool))
    world.run(other)
    // The other one's two units would come, and one of the groups' would be needed as well.
    world.run(outside)
    #expect(Self.cycle(outside)?.count == 4)
    world.finishAll([other])
    #expect(groups.allSatisfy { $0.kind == .succeeded })
  }

  @Test func `a wait with cancelHolder completes no cycle because the holder is cancelled`() {
    let world = World()
    let outside = Work.claiming("outside", MutuallyExclusive("db", whenBusy: .cancelHolder))
    let (group, child) = Self.group(claiming: MutuallyExclusive("db"), waitingFor: outside)
    world.run(group)
    world.run(outside)
    #expect(group.kind == .cancelled)
    #expect(child.kind == .cancelled)
    #expect(outside.isExecuting)
    world.finishAll([outside])
  }

  @Test func `a claim overtakes an earlier waiter if only the waiting order completes a cycle`() {
    let world = World()
    let pool = world.pool(10)
    let small = Work.claiming("small", ResourceUnits(1, of: pool))
    let group = Self.group(claiming: ResourceUnits(5, of: pool), waitingFor: small).group
    world.run(group)
    let large = Work.claiming("large", ResourceUnits(8, of: pool))
    world.run(large)
    // It comes after the large one, which waits for the group, which waits for it.
    world.run(small)
    #expect(small.isExecuting)
    world.finishAll([small])
    #expect(group.kind == .succeeded)
    #expect(large.isExecuting)
    world.finishAll([large])
  }

  @Test func `a claim overtakes an earlier waiter if waiting order completes a cycle later`() {
    let world = World()
    let pool = world.pool(10)
    let open = Work.open("open")
    let group = GroupOperation(name: "group") { open }
    group.addClaim(ResourceUnits(5, of: pool))
    world.run(group)
    let large = Work.claiming("large", ResourceUnits(8, of: pool))
    let small = Work.claiming("small", ResourceUnits(1, of: pool))
    world.run(large)
    world.run(small)
    #expect(small.state == .ready)
    let child = Work("child")
    child.addDependency(small)
    #expect(group.addOperation(child))
    world.simulation.run()
    #expect(small.isExecuting)
    world.finishAll([open, small])
    #expect(group.kind == .succeeded)
    world.finishAll([large])
    #expect(large.kind == .succeeded)
  }

  @Test func `a claim overtakes the new first waiter if waiting order completes a cycle`() {
    let world = World()
    let pool = world.pool(4)
    let small = Work.claiming("small", ResourceUnits(1, of: pool))
    let group = Self.group(claiming: ResourceUnits(2, of: pool), waitingFor: small).group
    world.run(group)
    let (holder, next) = (
      Work.claiming("holder", ResourceUnits(2, of: pool)),
      Work.claiming("next", ResourceUnits(2, of: pool))
    )
    let large = Work.claiming("large", ResourceUnits(3, of: pool))
    for operation in [holder, next, large, small] { world.run(operation) }
    // While the next one is in front, nothing keeps those behind it from coming first one day.
    #expect(holder.isExecuting)
    world.finishAll([holder])
    #expect(next.isExecuting)
    world.finishAll([next])
    #expect(small.isExecuting)
    world.finishAll([small])
    #expect(group.kind == .succeeded)
    world.finishAll([large])
    #expect(large.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `a cycle through a body that awaits an operation fails on one side`(seed: UInt64) {
    let world = World(seed: seed)
    let queue = world.queue
    let inner = ResultOperation(name: "inner") { 1 }
    inner.addClaim(MutuallyExclusive("db"))
    let outer = ResultOperation(name: "outer") {
      queue.addOperation(inner)
      return try await inner.value
    }
    outer.addClaim(MutuallyExclusive("db"))
    world.run(outer)
    #expect(outer.kind == .failed)
    #expect(inner.isFinished)
    #expect("\(outer.errors)\(inner.errors)".contains("inner"))
  }

  /// Groups and others with claims and dependencies at random: whatever cycles there are, all
  /// finish.
  @Test(arguments: Effort.seeds(300))
  func `random workflows with nested claims always finish`(seed: UInt64) {
    var random = Random(seed)
    let world = World(seed: seed)
    let limits = (0..<3).map { _ in [-1, 1, 2].randomElement(using: &random) ?? -1 }
    let queues = limits.map { world.makeQueue(limit: $0) }
    let workflow = Workflow(world.pool(4), &random)
    for operation in workflow.top {
      queues.randomElement(using: &random)?.addOperation(operation)
      if Bool.random(using: &random) { world.simulation.advance(by: .zero) }
    }
    world.simulation.run()
    #expect((workflow.top + workflow.leaves).allSatisfy { $0.isFinished })
  }

  @Test func `random workflows with claims and cancels always finish on threads`() async throws {
    let domain = ClaimDomain()
    let pool = ResourcePool(capacity: 4, domain: domain)
    let queues = (0..<3).map { number in
      let queue = AdvancedOperationQueue(environment: OperationEnvironment(claimDomain: domain))
      if number > 0 { queue.maxConcurrentOperationCount = number }
      return queue
    }
    var random = Random(7)
    for _ in 0..<Effort.rounds(60) {
      let workflow = Workflow(pool, &random)
      for operation in workflow.top {
        queues.randomElement(using: &random)?.addOperation(operation)
      }
      if Bool.random(using: &random) { workflow.top.randomElement(using: &random)?.cancel() }
    }
    for queue in queues { try await queue.untilAllOperationsAreFinished() }
    let free = Work("free")
    for name in ["a", "b"] { free.addClaim(MutuallyExclusive(name, whenBusy: .fail)) }
    free.addClaim(ResourceUnits(4, of: pool, whenBusy: .fail))
    queues[0].addOperation(free)
    try await free.untilFinished()
    #expect(free.kind == .succeeded)
  }

  private struct Workflow {
    var top: [AdvancedOperation] = []
    var leaves: [AdvancedOperation] = []

    init(_ pool: ResourcePool, _ random: inout Random) {
      for number in 0..<6 {
        if Bool.random(using: &random) {
          top.append(leaf(pool, &random))
        } else {
          let children = (0..<Int.random(in: 1...3, using: &random)).map { _ in
            leaf(pool, &random)
          }
          let group = GroupOperation(name: "g\(number)") { children }
          claim(group, pool, &random)
          top.append(group)
        }
      }
    }

    private mutating func leaf(_ pool: ResourcePool, _ random: inout Random) -> AdvancedOperation {
      let leaf = ResultOperation(name: "o\(leaves.count)") { await Task.yield() }
      claim(leaf, pool, &random)
      // Only earlier ones, so that no cycle is made of dependencies alone.
      for earlier in leaves where Int.random(in: 0..<6, using: &random) == 0 {
        leaf.addDependency(earlier)
      }
      leaves.append(leaf)
      return leaf
    }

    private func claim(
      _ operation: AdvancedOperation,
      _ pool: ResourcePool,
      _ random: inout Random
    ) {
      for name in ["a", "b"] where Int.random(in: 0..<3, using: &random) == 0 {
        operation.addClaim(MutuallyExclusive(name))
      }
      if Int.random(in: 0..<3, using: &random) == 0 {
        operation.addClaim(ResourceUnits(Int.random(in: 1...4, using: &random), of: pool))
      }
    }
  }
}
