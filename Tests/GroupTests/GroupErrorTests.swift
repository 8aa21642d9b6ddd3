import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `Errors in a group` {
  @Test(.watched)
  func `a group checks errors without a lock so that children may read it`() async throws {
    /// A child whose override of `dependencies` asks its group.
    final class Child: AdvancedOperation, @unchecked Sendable {
      // Sendable: set before the group runs.
      weak var owner: GroupOperation?
      override var dependencies: [Operation] {
        _ = owner?.children
        return super.dependencies
      }
      override func execute() { finish(withError: Flaw(1)) }
    }
    let child = Child()
    let group = GroupOperation { child }
    child.owner = group
    let queue = AdvancedOperationQueue()
    queue.addOperation(group)
    try await queue.untilAllOperationsAreFinished()
    #expect(group.flawNumbers == [1])
  }

  @Test(.watched)
  func `a group releases errors without a lock so that their release may read it`() async throws {
    /// What an error keeps, and what looks at the group when it goes.
    final class Probe: Sendable {
      let group: GroupOperation
      let log: Log<Int>
      init(_ group: GroupOperation, _ log: Log<Int>) { (self.group, self.log) = (group, log) }
      deinit { log.add(group.children.count) }
    }
    struct Mapped: Error { let probe: Probe }
    let log = Log<Int>()
    let failing = ResultOperation { () async throws -> Int in throw Flaw(1) }
    let group = GroupOperation {
      failing
      failing.recover { _ in 0 }
    }
    group.mapChildErrors { _, _ in Mapped(probe: Probe(group, log)) }
    let queue = AdvancedOperationQueue()
    queue.addOperation(group)
    try await queue.untilAllOperationsAreFinished()
    #expect(group.kind == .succeeded)
    #expect(log.entries == [2])
  }

  @Test(arguments: seeds)
  func `child errors are collected in the order of children with their origins`(seed: UInt64) {
    let world = World(seed: seed)
    let conditioned = Work("c")
    conditioned.addCondition(Immediate("weather", always: .failed(Flaw(3))))
    let group = GroupOperation(name: "group") {
      Work.failing("a", 1)
      Work("fine")
      Work.failing("b", 2)
      conditioned
    }
    world.run(group)
    #expect(group.kind == .failed)
    #expect(group.flawNumbers == [1, 2, 3])
    #expect(
      group.origins
        == [.child("a", .body), .child("b", .body), .child("c", .condition("weather"))]
    )
  }

  @Test(arguments: seeds)
  func `a child error with failFast cancels the other children`(seed: UInt64) {
    let world = World(seed: seed)
    let others = (0..<3).map { Work.open("o\($0)") }
    let waiting = Work("waiting")
    waiting.addDependency(others[0])
    let failing = Work.open("failing")
    let group = GroupOperation(errorPolicy: .failFast) {
      others
      waiting
      failing
    }
    world.run(group)
    failing.finish(withError: Flaw(1))
    world.simulation.run()
    #expect(others.allSatisfy { $0.kind == .cancelled })
    #expect(waiting.kind == .cancelled)
    #expect(!waiting.didExecute)
    #expect(group.kind == .failed)
    #expect(!group.isCancelled)
    #expect(group.flawNumbers == [1], "those that it cancelled itself are no errors")
  }

  @Test func `a child error with failFast makes the group refuse late children`() {
    let world = World()
    let stays = Work.open("stays", policy: .whenFinishIsCalled)
    let failing = Work.open("failing")
    let group = GroupOperation(errorPolicy: .failFast) {
      failing
      stays
    }
    world.run(group)
    failing.finish(withError: Flaw(1))
    world.simulation.run()
    #expect(stays.isCancelled)
    let late = Work("late")
    #expect(!group.addOperation(late))
    world.simulation.run()
    #expect(late.kind == .cancelled)
    #expect(late.cancellationReason is GroupOperation.SiblingFailed)
    #expect(!late.didExecute)
    stays.finish()
    world.simulation.run()
    #expect(group.flawNumbers == [1])
  }

  @Test func `a child error with collectAll leaves the other children alone`() {
    let world = World()
    let other = Work.open("other")
    let group = GroupOperation {
      Work.failing()
      other
    }
    world.run(group)
    #expect(other.isExecuting)
    other.finish()
    world.simulation.run()
    #expect(group.flawNumbers == [1])
  }

  @Test func `a child that was cancelled individually is an error of its group`() {
    let world = World()
    let (plain, reasoned) = (Work("plain"), Work("reasoned"))
    let group = GroupOperation {
      plain
      reasoned
    }
    plain.cancel()
    reasoned.cancel(withError: Flaw(2))
    world.run(group)
    #expect(group.kind == .failed)
    #expect(group.errors.first is CancellationError)
    #expect(group.flawNumbers == [0, 2])
    #expect(group.origins == [.child("plain", .cancel), .child("reasoned", .cancel)])
  }

  @Test func `skipped children aren't errors of the group`() {
    let world = World()
    let skipped = Work()
    skipped.addCondition(Immediate(always: .skipped(reason: "no need")))
    let group = GroupOperation { skipped }
    world.run(group)
    #expect(group.kind == .succeeded)
  }

  // MARK: The hook

  @Test(arguments: seeds)
  func `child errors can be replaced or recovered from`(seed: UInt64) {
    let world = World(seed: seed)
    let group = GroupOperation {
      Work("two errors") { $0.finish(withErrors: [Flaw(1), Flaw(2)]) }
      Work.failing("recovered", 3)
    }
    let asked = Log<String>()
    group.mapChildErrors { child, error in
      asked.add("\(child.name ?? "") \((error as? Flaw)?.number ?? 0) \(child.outcome != nil)")
      switch error as? Flaw {
      case Flaw(1): return Flaw(10)
      case Flaw(3): return nil
      default: return error
      }
    }
    world.run(group)
    #expect(Set(asked.entries) == ["two errors 1 true", "two errors 2 true", "recovered 3 true"])
    #expect(asked.entries.count == 3)
    #expect(group.kind == .failed)
    #expect(group.flawNumbers == [10, 2])
    #expect(group.origins == [.child("two errors", .body), .child("two errors", .body)])
  }

  @Test func `a group whose child errors were all recovered from succeeds`() {
    let world = World()
    let other = Work.open("other")
    let group = GroupOperation(errorPolicy: .failFast) {
      Work.failing()
      other
    }
    group.mapChildErrors { _, _ in nil }
    world.run(group)
    #expect(other.isExecuting)
    other.finish()
    world.simulation.run()
    #expect(group.kind == .succeeded)
  }

  // MARK: Root causes

  @Test(arguments: seeds)
  func `failures that a sibling's failure caused are counted and not repeated`(seed: UInt64) {
    let world = World(seed: seed)
    let root = ResultOperation(name: "root") { () async throws -> Int in throw Flaw(1) }
    let followers = (0..<3).map { number in root.then(name: "f\(number)") { $0 } }
    let last = followers[0].then(name: "last") { $0 }
    let conditioned = Work("conditioned")
    conditioned.addDependency(root)
    conditioned.addCondition(NoFailedDependencies())
    let group = GroupOperation {
      root
      followers
      last
      conditioned
    }
    world.run(group)
    #expect(group.flawNumbers == [1])
    #expect(group.outcome?.failure?.notRunCount == 5)
    #expect(
      group.outcome?.failure?.description == "child “root”\n  flaw 1\n5 others did not run"
    )
  }

  @Test func `a failure that an outside dependency caused remains an error`() {
    let world = World()
    let outside = ResultOperation(name: "outside") { () async throws -> Int in throw Flaw(1) }
    let group = GroupOperation { outside.then(name: "inside") { $0 } }
    world.run(outside, group)
    #expect(group.origins == [.child("inside", .dependency("outside"))])
    #expect(group.outcome?.failure?.notRunCount == 0)
  }

  @Test func `children that an inner group didn't run count in the outer group`() {
    let world = World()
    let root = ResultOperation(name: "root") { () async throws -> Int in throw Flaw(1) }
    let inner = GroupOperation(name: "inner") {
      root
      root.then(name: "next") { $0 }
    }
    let outer = GroupOperation(name: "outer") { inner }
    world.run(outer)
    #expect(inner.outcome?.failure?.notRunCount == 1)
    #expect(outer.outcome?.failure?.notRunCount == 1)
    #expect(outer.origins == [.child("inner", .child("root", .body))])
  }

  @Test(arguments: [false, true])
  func `failFast lets no dependent of the failed child start`(recovers: Bool) {
    let world = World()
    let failing = ResultOperation(name: "failing") {
      AdvancedOperation.current?.finish(withError: Flaw(1))
      // Its body goes on, so that it isn't quiet for long.
      try await OperationClock.current.sleep(until: .seconds(60))
    }
    let ran = Counter()
    let plain = BlockOperation { ran.add() }
    let advanced = Work("advanced") { work in
      ran.add()
      work.finish()
    }
    let group = GroupOperation(errorPolicy: .failFast) {
      failing
      plain
      advanced
    }
    for dependent in [plain, advanced] { dependent.addDependency(failing) }
    if recovers { group.mapChildErrors { _, _ in nil } }
    world.run(group)
    #expect(ran.count == (recovers ? 2 : 0))
    #expect(plain.isCancelled == !recovers)
    #expect(group.kind == (recovers ? .succeeded : .failed))
    #expect(group.flawNumbers == (recovers ? [] : [1]))
  }

  @Test(.watched) func `failFast cancels the other children before a failing finish returns`()
    async throws
  {
    let ran = Counter()
    let wasCancelled = Changing(false)
    let plain = BlockOperation { ran.add() }
    let failing = Work("failing") { work in
      work.finish(withError: Flaw(1))
      wasCancelled.value = plain.isCancelled
    }
    plain.addDependency(failing)
    let group = GroupOperation(errorPolicy: .failFast) {
      failing
      plain
    }
    let queue = AdvancedOperationQueue()
    queue.addOperation(group)
    try await group.untilFinished()
    #expect(wasCancelled.value)
    #expect(ran.count == 0)
  }
}
