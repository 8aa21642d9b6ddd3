import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// What a group inside of another one registers belongs to the outermost group that fails.
@Suite struct `Rolling back groups in groups` {
  /// A child that registers what undoes it in the innermost group that it is in.
  private static func step(_ name: String, _ log: Log<String>) -> ResultOperation<Void> {
    ResultOperation(name: name) {
      AdvancedOperation.current?.group?.onRollback { log.add("undo \(name)") }
    }
  }

  /// Groups in each other; the innermost has two steps, one after the other.
  private static func nested(_ depth: Int, _ log: Log<String>) -> GroupOperation {
    if depth > 1 {
      let inner = nested(depth - 1, log)
      return GroupOperation(name: "level \(depth)") { inner }
    }
    let first = step("first", log)
    let second = step("second", log)
    second.addDependency(first)
    return GroupOperation(name: "level 1") {
      first
      second
    }
  }

  @Test(arguments: 1...5)
  func `the outer group undoes the work of an inner group that succeeded`(depth: Int) {
    let world = World()
    let log = Log<String>()
    let inner = Self.nested(depth, log)
    let failing = Work.failing()
    failing.addDependency(inner)
    let outer = GroupOperation(name: "outer") {
      inner
      failing
    }
    outer.addObserver(BlockObserver(willFinish: { _, _ in log.add("willFinish") }))
    world.run(outer)
    #expect(inner.kind == .succeeded)
    #expect(log.entries == ["undo second", "undo first", "willFinish"])
    #expect(outer.flawNumbers == [1])
  }

  @Test(arguments: 1...5)
  func `nothing is undone if all groups succeed`(depth: Int) {
    let world = World()
    let log = Log<String>()
    let outer = Self.nested(depth, log)
    world.run(outer)
    #expect(outer.kind == .succeeded)
    #expect(log.entries.isEmpty)
    #expect(!outer.onRollback {})
  }

  @Test func `an inner group that fails undoes its own part once`() {
    let world = World()
    let log = Log<String>()
    let step = Self.step("inside", log)
    let inner = GroupOperation(name: "inner") {
      step
      let failing = Work.failing()
      failing.addDependency(step)
      failing
    }
    inner.onFinish { _, _ in log.add("inner has ended") }
    let outer = GroupOperation(name: "outer") { inner }
    outer.onRollback { log.add("undo outside") }
    world.run(outer)
    #expect(log.entries == ["undo inside", "inner has ended", "undo outside"])
  }

  @Test func `a failed group undoes an inner group in reverse order with its siblings`()
    throws
  {
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(300),
      randomSchedules: Effort.drawn(100)
    ) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let log = Log<String>()
      let before = Self.step("before", log)
      let inner = Self.nested(2, log)
      inner.addDependency(before)
      let after = Self.step("after", log)
      after.addDependency(inner)
      let failing = Work.failing()
      failing.addDependency(after)
      let outer = GroupOperation(name: "outer") { [before, inner, after, failing] }
      queue.addOperation(outer)
      simulation.run()
      try #require(
        log.entries == ["undo after", "undo second", "undo first", "undo before"]
      )
      try #require(outer.kind == .failed)
      try #require(queue.operationCount == 0)
    }
    #expect(report.scheduleCount > 1)
  }

  @Test func `all or nothing is undone whenever the outer group is cancelled`() throws {
    try exploreSchedules(depthFirst: Effort.schedules(500), randomSchedules: Effort.drawn(200)) {
      simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let log = Log<String>()
      let done = Log<String>()
      let child = ResultOperation(name: "child") {
        let isInTime = AdvancedOperation.current?.group?.onRollback { log.add("child") }
        if isInTime == true { done.add("child") }
      }
      let inner = GroupOperation(name: "inner") { child }
      let outer = GroupOperation(name: "outer") { inner }
      queue.addOperation(outer)
      simulation.addStep("cancel") { outer.cancel() }
      simulation.run()
      try #require(log.entries == (outer.kind == .succeeded ? [] : done.entries))
      try #require(queue.operationCount == 0)
    }
  }

  @Test func `rollbacks of an attempt or a round belong to the outer group`() {
    let world = World()
    let log = Log<String>()
    let retrying = RetryOperation(name: "retry", retry: .immediate.attempts(2)) { attempt in
      let step = Self.step("attempt \(attempt)", log)
      return GroupOperation {
        step
        if attempt == 1 {
          let failing = Work.failing()
          failing.addDependency(step)
          failing
        }
      }
    }
    let repeating = RepeatOperation(name: "repeat", times: 2) { round in
      GroupOperation { Self.step("round \(round)", log) }
    }
    repeating.addDependency(retrying)
    let failing = Work.failing()
    failing.addDependency(repeating)
    world.run(GroupOperation(name: "outer") { [retrying, repeating, failing] })
    #expect(
      log.entries == ["undo attempt 1", "undo round 2", "undo round 1", "undo attempt 2"]
    )
  }

  @Test func `an inner rollback sees the outer group as the current operation`() {
    let world = World()
    let seen = Log<String?>()
    let inner = GroupOperation(name: "inner") { Work() }
    inner.onRollback { seen.add(AdvancedOperation.current?.name) }
    let failing = Work.failing()
    failing.addDependency(inner)
    world.run(GroupOperation(name: "outer") { [inner, failing] })
    #expect(seen.entries == ["outer"])
  }

  @Test func `an error from an inner rollback is one of the outer group`() {
    let world = World()
    let log = Log<String>()
    let inner = GroupOperation(name: "inner") { Work() }
    inner.onRollback { log.add("first") }
    inner.onRollback { throw Flaw(7) }
    let failing = Work.failing()
    failing.addDependency(inner)
    let outer = GroupOperation(name: "outer") { [inner, failing] }
    world.run(outer)
    #expect(log.entries == ["first"])
    #expect(outer.flawNumbers == [1, 7])
  }

  @Test func `inner rollbacks are released with the outermost group and need no recursion`() {
    let world = World()
    let alive = LiveCount()
    var outer = GroupOperation { Work() }
    do {
      let token = alive.token()
      outer.onRollback { token.touch() }
    }
    for _ in 1...2_000 {
      let inner = outer
      outer = GroupOperation { inner }
    }
    world.run(outer)
    #expect(outer.kind == .succeeded)
    #expect(alive.alive == 0)
  }
}
