import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// A group holds a slot, and a child of it waits for what waits for that slot.
@Suite(.watched) struct `A cycle through a group's slot` {
  private static func cycle(of operation: Operation) -> [String]? {
    (operation.cancellationReason as? OperationCycleError)?.path.map(\.name)
  }

  @Test(arguments: seeds)
  func `a slot cycle ends with an operation that is added to the full queue`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let (other, child) = (Work("other"), Work("child"))
    child.addDependency(other)
    let group = GroupOperation(name: "group") { child }
    world.run(group)
    #expect(group.isExecuting)
    world.run(other)
    #expect(Self.cycle(of: other) == ["other", "group", "child", "other"])
    #expect(child.kind == .succeeded)
    #expect(group.kind == .succeeded)
    #expect(world.queue.operations.isEmpty)
  }

  @Test(arguments: seeds)
  func `a slot cycle ends with the child if the child is added last`(seed: UInt64) throws {
    let world = World(seed: seed, limit: 1)
    let (open, other, child) = (Work.open("open"), Work("other"), Work("child"))
    let group = GroupOperation(name: "group") { open }
    world.run(group, other)
    child.addDependency(other)
    #expect(group.addOperation(child))
    world.finishAll([open])
    #expect(Self.cycle(of: child) == ["child", "other", "group", "child"])
    let element = try #require(group.outcome?.failure?.elements.first)
    #expect(element.error is OperationCycleError)
    #expect(other.kind == .succeeded)
  }

  @Test(arguments: [false, true])
  func `a slot cycle ends with a child that gets a dependency`(isPlain: Bool) {
    let world = World(limit: 1)
    let (open, other) = (Work.open("open"), Work("other"))
    let child: Operation = isPlain ? BlockOperation {} : Work("child")
    child.name = "child"
    child.addDependency(open)
    let group = GroupOperation(name: "group") {
      open
      child
    }
    world.run(group, other)
    child.addDependency(other)
    world.finishAll([open])
    #expect(Self.cycle(of: child) == ["child", "other", "group", "child"])
    #expect(other.kind == .succeeded)
    #expect(world.queue.operations.isEmpty)
  }

  @Test func `a slot cycle is found through operations of any queue and group`() {
    let world = World(limit: 1)
    let elsewhere = world.makeQueue(limit: -1)
    let (last, middle, inner, child) = (Work("last"), Work("middle"), Work("inner"), Work("child"))
    middle.addDependency(last)
    let outer = GroupOperation(name: "outer") { inner }
    outer.addDependency(middle)
    child.addDependency(inner)
    let group = GroupOperation(name: "group") { GroupOperation(name: "nested") { child } }
    elsewhere.addOperations([middle, outer])
    world.run(group)
    #expect(group.isExecuting)
    world.run(last)
    #expect(last.kind == .cancelled)
    #expect(Self.cycle(of: last)?.contains("nested") == true)
    #expect(group.kind == .succeeded && outer.kind == .succeeded)
  }

  @Test func `a slot cycle is found when a needed operation joins a waiting group`() {
    let world = World(limit: 1)
    let (needed, child) = (Work("needed"), Work("child"))
    child.addDependency(needed)
    let group = GroupOperation(name: "group") { child }
    let later = GroupOperation(name: "later")
    world.run(group, later)
    #expect(later.addOperation(needed))
    world.simulation.run()
    #expect(Self.cycle(of: later) == ["needed", "later", "group", "child", "needed"])
    #expect(group.isFinished && later.isFinished)
  }

  @Test func `a slot cycle is found through attempts, rounds and scopes`() async {
    let world = World(limit: 1)
    for kind in 0..<3 {
      let other = Work("other")
      let owner: AdvancedOperation
      let make: @Sendable (Int) -> AdvancedOperation = { _ in
        let work = Work("inside")
        work.addDependency(other)
        return work
      }
      switch kind {
      case 0: owner = RetryOperation(retry: .immediate.attempts(2)) { make($0) }
      case 1: owner = RepeatOperation(times: 2) { make($0) }
      default:
        owner = ResultOperation<Void> {
          try await withOperations(environment: world.simulation.environment) { scope in
            _ = scope.add(make(1))
          }
        }
      }
      world.run(owner, other)
      #expect(owner.isFinished && other.isFinished, "\(kind)")
      #expect(world.queue.operations.isEmpty)
    }
  }

  @Test func `a slot cycle isn't complete while another slot holder keeps running`() {
    let world = World(limit: 2)
    let (open, other, child) = (Work.open("open"), Work("other"), Work("child"))
    child.addDependency(other)
    let group = GroupOperation(name: "group") { child }
    world.run(group, open)
    world.run(other)
    #expect(!other.isFinished && !other.isExecuting)
    world.finishAll([open])
    #expect(other.kind == .succeeded && group.kind == .succeeded)
  }

  @Test func `a slot cycle is broken by the operation that waits for a claim`() {
    let world = World(limit: 1)
    let elsewhere = world.makeQueue(limit: -1)
    let claiming = Work.claiming("claiming", MutuallyExclusive("db"))
    let (other, child, inner) = (Work("other"), Work("child"), Work("inner"))
    child.addDependency(claiming)
    inner.addDependency(other)
    let group = GroupOperation(name: "group") { child }
    let holder = GroupOperation(name: "holder") { inner }
    holder.addClaim(MutuallyExclusive("db"))
    elsewhere.addOperation(holder)
    world.run(group)
    elsewhere.addOperation(claiming)
    world.simulation.run()
    #expect(claiming.state == .ready)
    world.run(other)
    #expect(claiming.kind == .failed)
    #expect([other, inner].allSatisfy { $0.kind == .succeeded })
    #expect(group.isFinished && holder.isFinished)
  }

  @Test(arguments: 0..<3)
  func `a group that needs its own child completes a cycle`(order: Int) {
    let world = World()
    let (child, between) = (Work("child"), Work("between"))
    let group = GroupOperation(name: "group")
    between.addDependency(child)
    if order == 0 { group.addDependency(between) }
    #expect(group.addOperation(child))
    if order == 1 { group.addDependency(between) }
    world.run(group, between)
    if order == 2 { group.addDependency(between) }
    world.simulation.run()
    #expect(world.queue.operations.isEmpty)
    #expect(child.isFinished && between.isFinished)
    #expect(order == 2 || group.cancellationReason is OperationCycleError)
  }

  @Test func `a group that needs its own cancelled child leaves`() {
    let world = World()
    let child = Work("child")
    let group = GroupOperation(name: "group") { child }
    child.cancel()
    group.addDependency(child)
    world.run(group)
    #expect(Self.cycle(of: group) == ["group", "child", "group"])
    #expect(group.kind == .cancelled && child.kind == .cancelled)
  }

  /// Groups and others with dependencies and waits of their own code at random, in queues with few
  /// slots, some of it added late: whatever cycles there are, all finish.
  @Test(arguments: Effort.seeds(400))
  func `random workflows of groups and slots always finish`(seed: UInt64) {
    var random = Random(seed)
    let world = World(seed: seed)
    let queues = [1, 1, 2, -1].map { world.makeQueue(limit: $0) }
    let workflow = Workflow(&random)
    for step in workflow.steps.shuffled(using: &random) {
      step(queues)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: world.simulation.run()
      case 1: for _ in 0..<5 { _ = world.simulation.step() }
      default: break
      }
    }
    world.simulation.run()
    let open = workflow.all.filter { !$0.isFinished }
    #expect(open.isEmpty, "\(open.first?.explain().description ?? "")")
    #expect(queues.allSatisfy { $0.operations.isEmpty })
  }

  @Test func `random workflows of groups and slots always finish on threads`() async throws {
    let queues = [1, 1, 2, -1].map { limit in
      let queue = AdvancedOperationQueue()
      queue.maxConcurrentOperationCount = limit
      return queue
    }
    for seed in Effort.seeds(150) {
      var random = Random(seed)
      let workflow = Workflow(&random)
      let steps = workflow.steps.shuffled(using: &random)
      let half = steps.count / 2
      await together(
        { for step in steps[..<half] { step(queues) } },
        { for step in steps[half...] { step(queues) } }
      )
      for operation in workflow.all { try await operation.untilFinished() }
    }
    for queue in queues { try await queue.untilAllOperationsAreFinished() }
  }

  /// Operations, and what is done with them from outside in any order.
  private struct Workflow {
    var all: [AdvancedOperation] = []
    var steps: [@Sendable ([AdvancedOperationQueue]) -> Void] = []

    init(_ random: inout Random) {
      for number in 0..<Int.random(in: 3...6, using: &random) {
        let place = Int.random(in: 0..<4, using: &random)
        guard Bool.random(using: &random) else {
          let leaf = leaf(&random)
          steps.append { $0[place].addOperation(leaf) }
          continue
        }
        let children = (0..<Int.random(in: 1...3, using: &random)).map { _ in leaf(&random) }
        let inTime = children.prefix(Int.random(in: 0...children.count, using: &random))
        let group = GroupOperation(
          name: "g\(number)",
          maxConcurrentOperationCount: [1, -1].randomElement(using: &random) ?? 1
        ) { Array(inTime) }
        all.append(group)
        steps.append { $0[place].addOperation(group) }
        for child in children.dropFirst(inTime.count) {
          // One that comes too late is on its own.
          steps.append { queues in
            if !group.addOperation(child) { queues[3].addOperation(child) }
          }
        }
      }
      for _ in 0..<3 {
        let ends = all.indices.shuffled(using: &random).prefix(2).sorted()
        guard ends.count == 2 else { continue }
        let (earlier, later) = (all[ends[0]], all[ends[1]])
        steps.append { _ in later.addDependency(earlier) }
      }
    }

    private mutating func leaf(_ random: inout Random) -> AdvancedOperation {
      let awaited =
        Int.random(in: 0..<4, using: &random) == 0 ? all.randomElement(using: &random) : nil
      let leaf = ResultOperation(name: "o\(all.count)") {
        await Task.yield()
        try await awaited?.untilFinished()
      }
      for earlier in all where Int.random(in: 0..<4, using: &random) == 0 {
        leaf.addDependency(earlier)
      }
      all.append(leaf)
      return leaf
    }
  }
}
