import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `Rolling back a group` {
  /// A group with children that register what undoes them.
  private static func group(
    _ log: Log<String>,
    _ errorPolicy: GroupOperation.ErrorPolicy = .collectAll,
    then last: Work
  ) -> GroupOperation {
    let group = GroupOperation(name: "group", errorPolicy: errorPolicy)
    var before: Work?
    for number in 1...3 {
      let child = Work("c\(number)") { [weak group] work in
        group?.onRollback { log.add("undo \(number)") }
        work.finish()
      }
      if let before { child.addDependency(before) }
      before = child
      _ = group.addOperation(child)
    }
    if let before { last.addDependency(before) }
    _ = group.addOperation(last)
    group.addObserver(
      BlockObserver(
        willFinish: { _, _ in log.add("willFinish") },
        didFinish: { _, _ in log.add("didFinish") }
      )
    )
    return group
  }

  @Test(arguments: seeds)
  func `runs once, in reverse order, before will-finish`(seed: UInt64) {
    let world = World(seed: seed)
    let log = Log<String>()
    let group = Self.group(log, then: Work.failing())
    world.run(group)
    #expect(log.entries == ["undo 3", "undo 2", "undo 1", "willFinish", "didFinish"])
    #expect(group.flawNumbers == [1])
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `doesn't run when it succeeded`(seed: UInt64) {
    let world = World(seed: seed)
    let log = Log<String>()
    let group = Self.group(log, then: Work())
    world.run(group)
    #expect(log.entries == ["willFinish", "didFinish"])
    #expect(group.kind == .succeeded)
  }

  @Test func `doesn't run for errors that were recovered from`() {
    let world = World()
    let log = Log<String>()
    let group = Self.group(log, then: Work.failing())
    group.onChildError { _, _ in nil }
    world.run(group)
    #expect(log.entries == ["willFinish", "didFinish"])
  }

  @Test(arguments: seeds)
  func `runs after a cancel, when all children are quiet`(seed: UInt64) {
    let world = World(seed: seed)
    let log = Log<String>()
    let last = Work.open(policy: .whenFinishIsCalled)
    let group = Self.group(log, then: last)
    world.run(group)
    group.cancel(withError: Flaw(5))
    world.simulation.run()
    #expect(log.entries.isEmpty)
    last.finish()
    world.simulation.run()
    #expect(log.entries == ["undo 3", "undo 2", "undo 1", "willFinish", "didFinish"])
    #expect(group.kind == .cancelled)
    #expect(group.flawNumbers == [5])
  }

  @Test func `what it throws is an error of the group, and the others run`() {
    let world = World()
    let log = Log<String>()
    let group = Self.group(log, then: Work.failing())
    group.onRollback { throw Flaw(7) }
    world.run(group)
    #expect(log.entries.count == 5)
    #expect(group.flawNumbers == [1, 7])
    #expect(group.origins.last == .body)
  }

  @Test func `a cancel that comes meanwhile makes the group cancelled`() {
    let world = World()
    let gate = Gate()
    let group = GroupOperation { Work.failing() }
    group.onRollback { await gate.opened() }
    world.run(group)
    #expect(group.isExecuting)
    group.cancel(withError: Flaw(2))
    gate.open()
    world.simulation.run()
    #expect(group.kind == .cancelled)
    // In the order in which they came: the group had failed before.
    #expect(group.flawNumbers == [1, 2])
  }

  @Test(arguments: seeds)
  func `the current operation is the group`(seed: UInt64) {
    let world = World(seed: seed)
    let seen = Log<String?>()
    let failing = ResultOperation(name: "child") { () async throws -> Int in throw Flaw(1) }
    let group = GroupOperation(name: "group") { failing }
    group.onRollback { seen.add(AdvancedOperation.current?.name) }
    world.run(group)
    #expect(seen.entries == ["group"])
  }

  @Test func `doesn't run when somebody else finished the group well`() {
    let world = World()
    let child = Work.open()
    let ran = Counter()
    let group = GroupOperation { child }
    group.onRollback { ran.add() }
    world.run(group)
    group.finish()
    child.finish(withError: Flaw(1))
    world.simulation.run()
    #expect(group.kind == .succeeded)
    #expect(ran.count == 0)
    #expect(world.queue.operationCount == 0)
  }

  enum Ending: CaseIterable, Sendable {
    case cancelled, conditionFailed, skipped
  }

  @Test(arguments: Ending.allCases)
  func `runs also when the group never executed, after its children`(ending: Ending) {
    let world = World()
    let log = Log<String>()
    let child = Work("child")
    child.onFinish { _, _ in log.add("child") }
    let group = GroupOperation { child }
    for number in 1...2 {
      let isInTime = group.onRollback { log.add("undo \(number)") }
      #expect(isInTime)
    }
    group.onRollback { throw Flaw(7) }
    group.addObserver(BlockObserver(willFinish: { _, _ in log.add("willFinish") }))
    switch ending {
    case .cancelled: group.cancel()
    case .conditionFailed: group.addCondition(Immediate(always: .failed(Flaw(1))))
    case .skipped: group.addCondition(Immediate(always: .skipped(reason: "no need")))
    }
    world.run(group)
    #expect(log.entries == ["child", "undo 2", "undo 1", "willFinish"])
    #expect(group.flawNumbers == (ending == .conditionFailed ? [1, 7] : [7]))
    #expect(group.kind == (ending == .cancelled ? .cancelled : .failed))
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `one that a rollback registers runs next`(seed: UInt64) {
    let world = World(seed: seed)
    let log = Log<String>()
    let group = GroupOperation { Work.failing() }
    group.onRollback { log.add("first") }
    group.onRollback { [weak group] in
      log.add("second")
      let isInTime = group?.onRollback { log.add("of second") }
      #expect(isInTime == true)
    }
    world.run(group)
    #expect(log.entries == ["second", "of second", "first"])
  }

  @Test(arguments: [false, true])
  func `is refused once the group has ended`(fails: Bool) {
    let world = World()
    let ran = Counter()
    let child = fails ? Work.failing() : Work()
    let group = GroupOperation { child }
    let isInTime = Log<Bool>()
    group.addObserver(
      BlockObserver(willFinish: { operation, _ in
        guard let group = operation as? GroupOperation else { return }
        isInTime.add(group.onRollback { ran.add() })
      })
    )
    world.run(group)
    let isInTimeAfterwards = group.onRollback { ran.add() }
    #expect(isInTime.entries == [false])
    #expect(!isInTimeAfterwards)
    world.simulation.run()
    #expect(ran.count == 0)
  }

  @Test(arguments: seeds)
  func `isn't made a success by a finish() that comes meanwhile`(seed: UInt64) {
    let world = World(seed: seed)
    let group = GroupOperation(name: "group") { Work.failing() }
    group.onRollback { [unowned group] in group.finish() }
    let dependent = Work("dependent")
    dependent.addDependency(group)
    dependent.addCondition(NoFailedDependencies())
    world.run(group, dependent)
    #expect(group.kind == .failed)
    #expect(group.flawNumbers == [1])
    #expect(dependent.kind == .failed)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `isn't made a success by a finish() from outside, in any order`() throws {
    try exploreSchedules(depthFirst: Effort.schedules(2_000), random: Effort.drawn(200)) {
      simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let undone = Counter()
      let group = GroupOperation(name: "group") { Work.failing() }
      group.onRollback {
        await Task.yield()
        undone.add()
      }
      queue.addOperation(group)
      simulation.addStep("finish") { if group.state == .executing { group.finish() } }
      simulation.run()
      try #require(group.outcome?.isSuccess == (undone.count == 0))
      try #require(queue.operationCount == 0)
    }
  }
}
