import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@Suite struct `Draining a queue` {
  /// One that ends after a time, or when it is cancelled.
  private static func slow(_ name: String, _ duration: Duration) -> ResultOperation<Void> {
    ResultOperation(name: name) {
      try await OperationClock.current.sleep(for: duration)
    }
  }

  /// Drains a suspended queue and resumes it after a second; does something a second later.
  private static func drain(
    _ queue: AdvancedOperationQueue,
    _ simulation: SimulatedEnvironment,
    _ body: @escaping @Sendable () -> Void = {}
  ) throws -> OperationDrainReport {
    let clock = queue.environment.clock
    return try simulation.run {
      async let report = queue.drain(within: .seconds(20))
      try await clock.sleep(for: .seconds(1))
      queue.isSuspended = false
      try await clock.sleep(for: .seconds(1))
      body()
      return await report
    }
  }

  private static func cause(_ operation: Operation) -> OperationQueueClosed.Cause? {
    (operation.cancellationReason as? OperationQueueClosed)?.cause
  }

  @Test
  func `draining a suspended queue that gets late operations ends at the time limit`() throws {
    let world = World(limit: 1)
    let (queue, clock) = (world.queue, world.simulation.environment.clock)
    let stubborn = HeldOperation(name: "stubborn", cancellationPolicy: .whenFinishIsCalled)
    queue.addOperations([stubborn, Work("next")])
    try world.simulation.run(until: { stubborn.isHeld })
    let report = try world.simulation.run {
      async let report = queue.drain(within: .seconds(1))
      try await clock.sleep(for: .seconds(2))
      queue.isSuspended = true
      queue.addOperation(Work("late"))
      try await clock.sleep(for: .seconds(1))
      stubborn.release()
      return await report
    }
    #expect(report.turnedAwayCount == 1)
    #expect(queue.operations.isEmpty)
  }

  @Test(arguments: seeds)
  func `draining lets present operations finish and counts their outcomes`(seed: UInt64) throws {
    let world = World(seed: seed)
    let skipped = Work()
    skipped.addCondition(Immediate(always: .skipped(reason: "no need")))
    let cancelled = Work()
    cancelled.cancel()
    let group = GroupOperation {
      Self.slow("child", .seconds(5))
      Work()
    }
    world.queue.isSuspended = true
    world.queue.addOperations([
      Self.slow("slow", .seconds(10)), Work.failing(), skipped, cancelled, group, BlockOperation {},
    ])
    let report = try Self.drain(world.queue, world.simulation)
    #expect(report.succeededCount == 3)
    #expect(report.failedCount == 1 && report.skippedCount == 1 && report.cancelledCount == 1)
    #expect(report.cutShort.isEmpty && report.turnedAwayCount == 0)
    #expect("\(report)" == "3 succeeded, 1 failed, 1 cancelled, 1 skipped")
    #expect(world.simulation.now == .seconds(11))
    #expect(world.queue.operationCount == 0 && world.queue.isClosed)
  }

  @Test func `draining an empty queue ends immediately and closes it`() throws {
    let world = World()
    #expect(!world.queue.isClosed)
    let report = try world.simulation.run { await world.queue.drain() }
    #expect("\(report)" == "nothing was left")
    let late = [Work("late"), BlockOperation {}, ResultOperation {}]
    world.run(late[0], late[1])
    world.queue.addOperation(late[2])
    world.simulation.run()
    for operation in late {
      #expect(operation.isFinished && operation.isCancelled)
      #expect(Self.cause(operation) == .addedLate)
    }
    #expect(world.queue.operationCount == 0)
  }

  @Test func `draining cancels operations that others add`() throws {
    let world = World()
    let executed = Counter()
    let late: [Operation] = (0..<6).map { number in
      number.isMultiple(of: 2)
        ? Work("late \(number)") { _ in executed.add() }
        : BlockOperation { executed.add() }
    }
    world.queue.addOperation(Self.slow("slow", .seconds(10)))
    let report = try world.simulation.run {
      async let report = world.queue.drain()
      try await world.queue.environment.clock.sleep(for: .seconds(5))
      world.queue.addOperation(late[0])
      world.queue.addOperation(late[1])
      world.queue.addOperations(Array(late[2...]))
      world.queue.addOperation { executed.add() }
      return await report
    }
    #expect(executed.count == 0)
    #expect(late.allSatisfy { Self.cause($0) == .addedLate })
    #expect(report.turnedAwayCount == 7 && report.succeededCount == 1)
    #expect(report.cancelledCount == 0)
  }

  @Test func `a drained queue refuses to run a workflow`() throws {
    let world = World()
    _ = try world.simulation.run { await world.queue.drain() }
    let last = ResultOperation(name: "first") { 1 }.then(name: "last") { $0 }
    let failure = #expect(throws: OperationFailure.self) {
      try world.simulation.run { try await world.queue.run(last) }
    }
    #expect(failure?.errors.first is OperationQueueClosed)
  }

  // MARK: What members add

  @Test(arguments: seeds)
  func `draining accepts operations that members add from anywhere`(seed: UInt64) throws {
    let world = World(seed: seed)
    let queue = world.queue
    let added = Log<String>()
    @Sendable func more(_ name: String) -> Work {
      Work(name) { work in
        added.add(name)
        work.finish()
      }
    }
    let producer = Work("producer") { work in
      #expect(throws: Never.self) { try work.produce(more("produced")) }
      work.finish()
    }
    let asynchronous = ResultOperation(name: "async") {
      await Task.yield()
      queue.addOperation(more("from async"))
      try await withOperations { scope in
        scope.add(
          Work("scoped") { work in
            queue.addOperation(more("from a scope"))
            work.finish()
          }
        )
      }
    }
    let group = GroupOperation {
      ResultOperation(name: "child") { queue.addOperation(more("from a child")) }
    }
    let observed = Work("observed")
    observed.onStart { _ in queue.addOperation(more("from did-start")) }
    observed.onFinish { _, _ in queue.addOperation(more("from did-finish")) }
    observed.completionBlock = { queue.addOperation(more("from completion")) }
    let plain = BlockOperation { queue.addOperation(more("from a block")) }
    plain.completionBlock = { queue.addOperations([more("from plain completion")]) }
    let conditioned = Work("conditioned")
    conditioned.addCondition(Asked(prerequisite: { _ in more("prerequisite") }))
    conditioned.addCondition(
      Immediate { _ in
        queue.addOperation(more("from a condition"))
        return .satisfied
      }
    )
    let open = Work.open("open")
    open.onFinish { _, _ in queue.addOperation(more("from finish outside")) }
    queue.isSuspended = true
    queue.addOperations([producer, asynchronous, group, observed, plain, conditioned, open])
    queue.addBarrierBlock { queue.addOperation(more("from a barrier")) }
    let report = try Self.drain(queue, world.simulation) { open.finish() }
    #expect(
      Set(added.entries) == [
        "produced", "from async", "from a scope", "from a child", "from did-start",
        "from did-finish", "from completion", "from a block", "from plain completion",
        "prerequisite",
        "from a condition", "from finish outside", "from a barrier",
      ]
    )
    #expect(report.turnedAwayCount == 0)
    // The immediate condition is evaluated again, as its operation has waited for a prerequisite.
    #expect(added.entries.count == 13 + 1)
    #expect(report.succeededCount == 7 + added.entries.count)
  }

  @Test func `draining refuses operations that a finished member's task adds`() throws {
    let world = World()
    let late = Work("late")
    let executor = world.queue.environment.executor as? any TaskExecutor
    let leaver = ResultOperation(name: "leaver") {
      let clock = AdvancedOperation.current?.environment.clock
      Task(executorPreference: executor) {
        try await clock?.sleep(for: .seconds(5))
        world.queue.addOperation(late)
      }
    }
    world.queue.addOperations([leaver, Self.slow("slow", .seconds(10))])
    let report = try world.simulation.run { await world.queue.drain() }
    #expect(report.turnedAwayCount == 1)
    #expect(Self.cause(late) == .addedLate)
  }

  // MARK: Time

  @Test(arguments: seeds)
  func `draining cancels and names the remaining operations at the time limit`(seed: UInt64) throws
  {
    let world = World(seed: seed, limit: 2)
    let fast = Self.slow("fast", .seconds(5))
    let slow = Self.slow("slow", .seconds(60))
    let waiting = Self.slow("waiting", .seconds(60))
    waiting.addDependency(slow)
    world.queue.addOperations([fast, slow, waiting])
    let report = try world.simulation.run { await world.queue.drain(within: .seconds(20)) }
    #expect(report.succeededCount == 1 && report.cancelledCount == 2)
    #expect(Set(report.cutShort) == [slow, waiting])
    for operation in [slow, waiting] {
      #expect(Self.cause(operation) == .deadlineExceeded(.seconds(20)))
    }
    #expect(world.simulation.now == .seconds(20))
    #expect("\(report)".hasPrefix("1 succeeded, 2 cancelled, cut short: "))
  }

  @Test func `draining refuses operations that members add after the time limit`() throws {
    let world = World()
    let added = Work("added")
    let stubborn = ResultOperation(name: "stubborn") {
      let operation = AdvancedOperation.current
      try? await operation?.environment.clock.sleep(for: .seconds(60))
      try operation?.produce(added)
    }
    world.queue.addOperation(stubborn)
    let report = try world.simulation.run { await world.queue.drain(within: .seconds(20)) }
    #expect(report.cutShort == [stubborn] && report.turnedAwayCount == 1)
    world.simulation.run()
    #expect(Self.cause(added) == .addedLate)
    #expect(added.isFinished && !added.didExecute)
  }

  // MARK: Chains that never end

  /// Each way in which an operation that ends may add a successor.
  enum Way: CaseIterable, Sendable {
    case didCancel, didFinish, batch, completion, plainCompletion, closure, produce, then,
      prerequisite
    case groupChild, failedGroupChild, groupProduce, scope, retryProduce, condition
  }

  /// Adds operations without an end, each when the one before ends, until there are so many.
  private struct Chain: Sendable {
    static let longest = 1_000
    let way: Way
    let queue: AdvancedOperationQueue
    let added = Counter()
    /// What the chain is in, for ways that have such a thing.
    let group: GroupOperation
    let scope = Changing<OperationScope?>(nil)

    func add(_ operation: AdvancedOperation) {
      switch way {
      case .batch: queue.addOperations([operation])
      case .groupChild, .failedGroupChild: _ = group.addOperation(operation)
      case .scope: scope.value?.add(operation)
      case .then:
        guard let next = operation as? ResultOperation<Void> else { break }
        queue.addOperations([next, next.then(name: "then") {}])
      default: queue.addOperation(operation)
      }
    }

    func addNext() {
      if added.add() < Self.longest { add(link()) }
    }

    /// An operation that is followed by another one, however it ends.
    func link() -> AdvancedOperation {
      let link = ResultOperation(name: "link") { [queue] in
        try await queue.environment.clock.sleep(for: .seconds(1))
      }
      switch way {
      case .didCancel:
        link.onCancel { _, _ in addNext() }
        link.onFinish { link, _ in if !link.isCancelled { addNext() } }
      case .completion: link.completionBlock = { addNext() }
      case .plainCompletion:
        let plain = BlockOperation {}
        plain.addDependency(link)
        plain.completionBlock = { addNext() }
        queue.addOperation(plain)
      case .closure:
        link.onFinish { _, _ in queue.addOperation { addNext() } }
      case .produce, .groupProduce, .retryProduce:
        link.addObserver(
          BlockObserver(willFinish: { link, _ in
            if added.add() < Self.longest { try? link.produce(self.link()) }
          })
        )
      case .prerequisite:
        let prerequisite = ResultOperation(name: "prerequisite") { [queue] in
          try await queue.environment.clock.sleep(for: .seconds(1))
        }
        prerequisite.onFinish { _, _ in addNext() }
        link.addCondition(Asked { _ in prerequisite })
      case .condition:
        link.addCondition(
          Asked { [queue] _ in
            try? await queue.environment.clock.sleep(for: .seconds(1))
            addNext()
            return .satisfied
          }
        )
      case .didFinish, .batch, .then, .groupChild, .failedGroupChild, .scope:
        link.onFinish { _, _ in addNext() }
      }
      return link
    }

    func begin() {
      switch way {
      case .groupChild, .groupProduce, .failedGroupChild:
        group.addOperation(link())
        if way == .failedGroupChild {
          let failing = ResultOperation(name: "failing") { [queue] in
            try await queue.environment.clock.sleep(for: .milliseconds(1500))
            throw Flaw(1)
          }
          group.addOperation(failing)
        }
        queue.addOperation(group)
      case .scope:
        queue.addOperation(
          ResultOperation(name: "scoped") { [queue] in
            try await withOperations { scope in
              self.scope.value = scope
              scope.add(link())
              try await queue.environment.clock.sleep(for: .seconds(1_000_000))
            }
          }
        )
      case .retryProduce:
        queue.addOperation(
          RetryOperation<Void>(name: "retry", retry: .immediate.attempts(2)) { _ in
            let attempt = ResultOperation(name: "attempt") {}
            attempt.addObserver(
              BlockObserver(willFinish: { attempt, _ in try? attempt.produce(link()) })
            )
            return attempt
          }
        )
      default: add(link())
      }
    }
  }

  @Test(arguments: Way.allCases)
  func `draining ends at the time limit however operations add successors`(way: Way) throws {
    let world = World()
    let policy: GroupOperation.ErrorPolicy = way == .failedGroupChild ? .failFast : .collectAll
    let chain = Chain(
      way: way,
      queue: world.queue,
      group: GroupOperation(name: "group", errorPolicy: policy)
    )
    chain.begin()
    let limit = Duration.milliseconds(3_500)
    let report = try world.simulation.run { await world.queue.drain(within: limit) }
    #expect(world.simulation.now <= limit)
    if way == .failedGroupChild {
      #expect(chain.group.children.count < 10, "it has taken in what was turned away")
    } else {
      #expect(chain.added.count < Chain.longest / 2, "it has waited for what was turned away")
    }
    #expect(world.queue.operationCount == 0)
    #expect(report.succeededCount + report.cancelledCount + report.failedCount > 0)
    // What is turned away ends as well, each with its successor.
    world.simulation.run()
    #expect(world.queue.operationCount == 0)
  }

  @Test(.watched) func `draining of a self-extending chain ends on threads`() async {
    let queue = AdvancedOperationQueue()
    let isOver = Changing(false)
    let added = Counter()
    @Sendable func link() -> ResultOperation<Void> {
      let operation = ResultOperation(name: "link") {}
      operation.onFinish { _, _ in
        if !isOver.value, added.add() < 100_000 { queue.addOperation(link()) }
      }
      return operation
    }
    queue.addOperation(link())
    let report = await queue.drain(within: .milliseconds(20))
    isOver.value = true
    #expect(report.turnedAwayCount > 0)
    #expect(queue.operationCount == 0)
  }

  @Test func `a refused operation isn't a member and its observers are notified`() throws {
    let world = World()
    let delegate = RecordingDelegate()
    _ = try world.simulation.run { await world.queue.drain() }
    world.queue.delegate = delegate
    let recorder = RecordingObserver()
    let queueRecorder = RecordingObserver()
    world.queue.addObserver(queueRecorder)
    let late = Work("late")
    late.addObserver(recorder)
    world.queue.addOperation(late)
    #expect(world.queue.operationCount == 0)
    #expect(late.isCancelled)
    world.simulation.run()
    #expect(recorder.kinds == [.enqueued, .cancelled, .willFinish, .finished])
    #expect(queueRecorder.kinds == recorder.kinds)
    #expect(delegate.log.entries.isEmpty)
    #expect(late.isFinished && !late.didExecute)
  }

  @Test func `draining refuses operations that a refused operation adds`() throws {
    let world = World()
    let late = Work("late")
    let later = Work("later")
    late.onFinish { _, _ in world.queue.addOperation(later) }
    world.queue.addOperation(Self.slow("slow", .seconds(5)))
    let report = try world.simulation.run {
      async let report = world.queue.drain()
      try await world.queue.environment.clock.sleep(for: .seconds(1))
      world.queue.addOperation(late)
      return await report
    }
    #expect(report.turnedAwayCount == 2 && report.succeededCount == 1)
    #expect(!late.didExecute && !later.didExecute)
    #expect(later.isFinished)
  }

  @Test func `draining waits for a body that ignores its cancel`() throws {
    let world = World()
    let held = HeldOperation(name: "held", cancellationPolicy: .whenFinishIsCalled)
    world.queue.addOperation(held)
    let report = try world.simulation.run {
      async let report = world.queue.drain(within: .seconds(20))
      try await world.queue.environment.clock.sleep(for: .seconds(50))
      held.release()
      return await report
    }
    #expect(world.simulation.now == .seconds(50))
    #expect(report.cutShort == [held])
  }

  @Test func `an operation that was cancelled before doesn't count as cut short`() throws {
    let world = World()
    let held = HeldOperation(name: "held", cancellationPolicy: .whenFinishIsCalled)
    world.queue.addOperation(held)
    world.simulation.run()
    held.cancel()
    let report = try world.simulation.run {
      async let report = world.queue.drain(within: .seconds(20))
      try await world.queue.environment.clock.sleep(for: .seconds(50))
      held.release()
      return await report
    }
    #expect(report.cutShort.isEmpty && report.cancelledCount == 1)
  }

  @Test(arguments: [0, 1])
  func `draining empties a queue that is suspended or has no slots`(limit: Int) throws {
    let world = World(limit: limit)
    let isBarrierRun = Changing(false)
    world.queue.isSuspended = true
    world.queue.addOperations([Work("first"), BlockOperation {}])
    world.queue.addBarrierBlock { isBarrierRun.value = true }
    let report = try world.simulation.run { await world.queue.drain(within: .seconds(20)) }
    #expect(report.cancelledCount == 2 && report.cutShort.count == 2)
    #expect(isBarrierRun.value)
    #expect(world.simulation.now == .seconds(20))
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .seconds(Int64.max)])
  func `draining accepts any time limit`(limit: Duration) throws {
    let world = World()
    let slow = Self.slow("slow", .seconds(60))
    world.queue.addOperation(slow)
    let report = try world.simulation.run { await world.queue.drain(within: limit) }
    #expect(report.succeededCount == (limit > .seconds(60) ? 1 : 0))
    #expect(report.cutShort.count == (limit > .seconds(60) ? 0 : 1))
  }

  @Test func `cancelling the draining task cuts operations short and still waits`() throws {
    let world = World()
    let slow = Self.slow("slow", .seconds(60))
    let executor = world.queue.environment.executor as? any TaskExecutor
    world.queue.addOperation(slow)
    let report = try world.simulation.run {
      let draining = Task(executorPreference: executor) {
        await world.queue.drain(within: .seconds(20))
      }
      try await world.queue.environment.clock.sleep(for: .seconds(5))
      draining.cancel()
      return await draining.value
    }
    #expect(report.cutShort == [slow])
    #expect(Self.cause(slow) == .waitCancelled)
    #expect(world.simulation.now == .seconds(5))
  }

  @Test func `two draining tasks both get a report and the shorter limit applies`() throws {
    let world = World()
    world.queue.addOperation(Self.slow("slow", .seconds(60)))
    let reports = try world.simulation.run {
      async let first = world.queue.drain(within: .seconds(40))
      async let second = world.queue.drain(within: .seconds(20))
      return await [first, second]
    }
    #expect(reports.map(\.cutShort.count) == [1, 1])
    #expect(world.simulation.now == .seconds(20))
  }

  // MARK: Every order

  @Test(.heavy)
  func `draining is complete in every order with callbacks that add operations`() throws {
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(10_000),
      randomSchedules: Effort.drawn(300)
    ) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let executor = simulation.environment.executor as? any TaskExecutor
      let child = Work("child")
      let first = Work("first")
      first.onFinish { _, _ in queue.addOperation(child) }
      let outsider = Work("outsider")
      let result = Changing<OperationDrainReport?>(nil)
      queue.addOperation(first)
      simulation.addStep("add") { queue.addOperation(outsider) }
      let task = Task(executorPreference: executor) {
        result.value = await queue.drain(within: .seconds(1))
        // Nothing is left, and nothing comes.
        if queue.operationCount != 0 { result.value = nil }
      }
      simulation.run()
      let report = try #require(result.value)
      let ended = report.succeededCount + report.cancelledCount
      try #require(report.cutShort.isEmpty)
      if Self.cause(outsider) == nil {
        try #require(outsider.kind == .succeeded)
      } else {
        try #require(outsider.kind == .cancelled && !outsider.didExecute)
      }
      // The child's parent may have ended before the drain began, and then it was added before.
      try #require(child.kind == .succeeded)
      try #require(ended <= 3 && queue.operationCount == 0)
      withExtendedLifetime(task) {}
    }
    #expect(report.scheduleCount > 50)
  }

  @Test(.heavy) func `no operation runs after draining ends on many threads`() async {
    for _ in 0..<30 {
      let queue = AdvancedOperationQueue()
      let isOver = Changing(false)
      let isLate = Changing(false)
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<4 {
          group.addTask {
            for index in 0..<50 {
              let body: @Sendable () -> Void = { if isOver.value { isLate.value = true } }
              if (index + number).isMultiple(of: 2) {
                queue.addOperation(body)
              } else {
                queue.addOperation(ResultOperation { body() })
              }
            }
          }
        }
        group.addTask {
          await Task.yield()
          await queue.drain()
          isOver.value = true
        }
      }
      await queue.drain()
      #expect(!isLate.value)
      #expect(queue.operationCount == 0)
    }
  }

  @Test func `draining by an operation of the queue traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = AdvancedOperationQueue(name: "jobs")
      try await queue.run(ResultOperation { _ = await queue.drain() })
    }
    try expectMessage(
      "drain(within:) was called on queue “jobs” by an operation that it would wait for.",
      in: result
    )
  }
}
