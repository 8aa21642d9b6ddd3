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
  func `rollbacks run once and in reverse order before willFinish`(seed: UInt64) {
    let world = World(seed: seed)
    let log = Log<String>()
    let group = Self.group(log, then: Work.failing())
    world.run(group)
    #expect(log.entries == ["undo 3", "undo 2", "undo 1", "willFinish", "didFinish"])
    #expect(group.flawNumbers == [1])
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `rollbacks don't run if the group succeeded`(seed: UInt64) {
    let world = World(seed: seed)
    let log = Log<String>()
    let group = Self.group(log, then: Work())
    world.run(group)
    #expect(log.entries == ["willFinish", "didFinish"])
    #expect(group.kind == .succeeded)
  }

  @Test func `rollbacks don't run for errors that were recovered from`() {
    let world = World()
    let log = Log<String>()
    let group = Self.group(log, then: Work.failing())
    group.mapChildErrors { _, _ in nil }
    world.run(group)
    #expect(log.entries == ["willFinish", "didFinish"])
  }

  @Test(arguments: seeds)
  func `rollbacks run after a cancel when all children have left`(seed: UInt64) {
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

  @Test func `an error from a rollback is one of the group's errors`() {
    let world = World()
    let log = Log<String>()
    let group = Self.group(log, then: Work.failing())
    group.onRollback { throw Flaw(7) }
    world.run(group)
    #expect(log.entries.count == 5)
    #expect(group.flawNumbers == [1, 7])
    #expect(group.origins.last == .body)
  }

  @Test func `a cancel during a rollback makes the group cancelled`() {
    let world = World()
    let gate = Latch()
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
  func `a rollback sees its group as the current operation`(seed: UInt64) {
    let world = World(seed: seed)
    let seen = Log<String?>()
    let failing = ResultOperation(name: "child") { () async throws -> Int in throw Flaw(1) }
    let group = GroupOperation(name: "group") { failing }
    group.onRollback { seen.add(AdvancedOperation.current?.name) }
    world.run(group)
    #expect(seen.entries == ["group"])
  }

  @Test func `rollbacks don't run if the program finished the group without errors`() {
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
  func `rollbacks of a group that never executed run after its children`(ending: Ending) {
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
  func `a rollback that another rollback registers runs next`(seed: UInt64) {
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
  func `a rollback is refused after the group has ended`(fails: Bool) {
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
  func `a finish during a rollback doesn't turn the failure into a success`(seed: UInt64) {
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

  @Test func `a finish from outside doesn't turn a rolled back group into a success`() throws {
    try exploreSchedules(depthFirst: Effort.schedules(2_000), randomSchedules: Effort.drawn(200)) {
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

/// What undoes the work of a child is registered with the child, before that starts.
@Suite struct `The rollback of a child` {
  private let world = World()
  private let log = Log<String>()

  /// A child that takes a second, and what undoes it.
  private func step(
    _ name: String,
    retry: RetryPolicy? = nil,
    failure: (any Error)? = nil
  ) -> ResultOperation<Void> {
    let clock = world.simulation.environment.clock
    let step = ResultOperation(name: name, retry: retry) { [log] in
      log.add("do \(name)")
      try await clock.sleep(for: .seconds(1))
      if let failure { throw failure }
    }
    let isRegistered = step.onRollback { [log] in log.add("undo \(name)") }
    #expect(isRegistered)
    return step
  }

  enum Ending: CaseIterable, Sendable {
    case cancel, childCancel, timeout, failFast, attemptTimeout, ownError
  }

  @Test(arguments: Ending.allCases)
  func `a child's rollback runs if its request is in flight at the end`(ending: Ending) {
    let policy = RetryPolicy.immediate.attempts(1).attemptTimeout(.milliseconds(500))
    let reserve = step(
      "reserve",
      retry: ending == .attemptTimeout ? policy : nil,
      failure: ending == .ownError ? Flaw(1) : nil
    )
    let group = GroupOperation(name: "order", errorPolicy: .failFast) { reserve }
    switch ending {
    case .timeout: group.addObserver(TimeoutObserver(.milliseconds(500)))
    case .failFast:
      let delay = DelayOperation(.milliseconds(500))
      let failing = Work.failing()
      failing.addDependency(delay)
      group.addOperation(delay)
      group.addOperation(failing)
    case .cancel, .childCancel, .attemptTimeout, .ownError: break
    }
    group.addObserver(BlockObserver(willFinish: { [log] _, _ in log.add("willFinish") }))
    world.queue.addOperation(group)
    world.simulation.advance(by: .milliseconds(500))
    switch ending {
    case .cancel: group.cancel()
    case .childCancel: reserve.cancel(withError: Flaw(2))
    case .timeout, .failFast, .attemptTimeout, .ownError: break
    }
    world.simulation.run()
    #expect(log.entries == ["do reserve", "undo reserve", "willFinish"])
  }

  @Test func `a child's rollback runs once for all its attempts`() {
    let pay = step("pay", retry: .immediate.attempts(3), failure: Flaw(1))
    let retrying = RetryOperation<Void>(name: "retrying", retry: .immediate.attempts(2)) { _ in
      ResultOperation { throw Flaw(2) }
    }
    retrying.onRollback { [log] in log.add("undo retrying") }
    retrying.addDependency(pay)
    world.run(GroupOperation(name: "order") { [pay, retrying] })
    #expect(log.entries == ["do pay", "do pay", "do pay", "undo retrying", "undo pay"])
  }

  @Test func `each attempt that is an operation has its own rollback`() {
    let retrying = RetryOperation<Void>(name: "retry", retry: .immediate.attempts(2)) { attempt in
      self.step("\(attempt)", failure: Flaw(attempt))
    }
    world.run(GroupOperation(name: "order") { retrying })
    #expect(log.entries == ["do 1", "do 2", "undo 2", "undo 1"])
  }

  @Test(arguments: seeds)
  func `rollbacks of children run in reverse start order and only if started`(seed: UInt64) {
    let world = World(seed: seed)
    let log = Log<String>()
    let works = (1...4).map { number in
      let work = Work("\(number)") { work in
        log.add("\(number)")
        if number == 3 { work.finish(withError: Flaw(1)) } else { work.finish() }
      }
      work.onRollback { log.add("undo \(number)") }
      work.onStart { _ in }
      return work
    }
    for (first, second) in zip(works, works.dropFirst()) { second.addDependency(first) }
    works[3].addCondition(.allSucceeded)
    // Registered in another order than that of the starts.
    world.run(GroupOperation(name: "group", errorPolicy: .failFast) { works.reversed() })
    #expect(log.entries == ["1", "2", "3", "undo 3", "undo 2", "undo 1"])
  }

  enum Obstacle: CaseIterable, Sendable {
    case cancel, condition, groupCancel
  }

  @Test(arguments: Obstacle.allCases)
  func `a child's rollback is released without running if its body wasn't called`(
    obstacle: Obstacle
  ) {
    let alive = LiveCount()
    do {
      let token = alive.token()
      let work = Work("work")
      work.onRollback { [log] in
        token.touch()
        log.add("undo")
      }
      let group = GroupOperation(name: "group") {
        work
        Work.failing()
      }
      switch obstacle {
      case .cancel: work.cancel()
      case .condition: work.addCondition(Immediate(always: .failed(Flaw(2))))
      case .groupCancel: group.cancel()
      }
      world.run(group)
      #expect(!work.didExecute)
      #expect(!work.onRollback {})
    }
    #expect(log.entries.isEmpty)
    #expect(alive.alive == 0)
  }

  @Test(arguments: [true, false])
  func `a child's rollback runs if its value is from the journal`(isRecorded: Bool) {
    let journal = InMemoryJournal(isRecorded ? [.init(key: "reserve", value: 2)] : [])
    let reserve = ResultOperation { [log] in
      log.add("do")
      return 2
    }.recorded(as: "reserve", in: journal)
    reserve.onRollback { [log] in
      log.add("undo")
      journal.remove("reserve")
    }
    let pay = reserve.then(name: "pay") { _ in throw Flaw(1) }
    world.run(GroupOperation(name: "order") { [reserve, pay] })
    #expect(log.entries == (isRecorded ? ["undo"] : ["do", "undo"]))
    #expect(journal.keys.isEmpty)
  }

  @Test func `a child's rollback is released without running after a success`() {
    let alive = LiveCount()
    do {
      let token = alive.token()
      let work = Work("work")
      work.onRollback { token.touch() }
      let group = GroupOperation(name: "group") { work }
      world.run(group)
      #expect(group.kind == .succeeded)
      #expect(!work.onRollback {})
    }
    #expect(alive.alive == 0)
  }

  @Test func `a body may register a rollback that needs its result`() {
    let reserve = ResultOperation(name: "reserve") { [log] in
      let seats = [14, 15]
      AdvancedOperation.current?.onRollback { log.add("release \(seats)") }
    }
    reserve.onRollback { [log] in log.add("undo") }
    let pay = reserve.then(name: "pay") { _ in throw Flaw(1) }
    world.run(GroupOperation(name: "order") { [reserve, pay] })
    #expect(log.entries == ["release [14, 15]", "undo"])
  }

  @Test func `a child's rollback belongs to the outermost group that fails`() {
    let inner = GroupOperation(name: "inner") { step("first") }
    inner.onRollback { [log] in log.add("undo inner") }
    let second = step("second")
    second.addDependency(inner)
    let failing = Work.failing()
    failing.addDependency(second)
    world.run(GroupOperation(name: "outer") { [inner, second, failing] })
    #expect(
      log.entries
        == ["do first", "do second", "undo second", "undo first", "undo inner"]
    )
  }

  @Test func `an operation outside of a group drops its rollback`() {
    let alone = step("alone", failure: Flaw(1))
    world.run(alone)
    #expect(log.entries == ["do alone"])
    #expect(!alone.onRollback {})
    let executing = Work { work in
      #expect(!work.onRollback {})
      work.finish()
    }
    world.run(executing)
  }

  @Test func `a cancelled group undoes exactly the children that have begun`() throws {
    try exploreSchedules(depthFirst: Effort.schedules(500), randomSchedules: Effort.drawn(200)) {
      simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let begun = Log<String>()
      let undone = Log<String>()
      let steps = ["a", "b"].map { name in
        let step = ResultOperation(name: name) {
          begun.add(name)
          await Task.yield()
        }
        step.onRollback { undone.add(name) }
        return step
      }
      let group = GroupOperation(name: "group") { steps }
      queue.addOperation(group)
      simulation.addStep("cancel") { group.cancel() }
      simulation.run()
      let all = group.kind == .succeeded ? [] : begun.entries
      try #require(undone.entries.sorted() == all.sorted())
      try #require(queue.operationCount == 0)
    }
  }
}
