import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@Suite struct `Running a workflow` {
  /// Runs an operation in a task of the simulation, and returns what came out.
  private static func run<Output: Sendable>(
    _ operation: ResultOperation<Output>,
    in queue: OperationQueue,
    _ simulation: SimulatedEnvironment
  ) -> (result: Changing<Result<Output, any Error>?>, task: Task<Void, Never>) {
    let result = Changing<Result<Output, any Error>?>(nil)
    let executor = simulation.environment.executor as? any TaskExecutor
    let task = Task(executorPreference: executor) {
      do { result.value = .success(try await queue.run(operation)) } catch {
        result.value = .failure(error)
      }
    }
    return (result, task)
  }

  /// One that ends after a time, or when it is cancelled.
  private static func slow(
    _ name: String,
    _ duration: Duration = .seconds(60)
  ) -> ResultOperation<Int> {
    ResultOperation(name: name) {
      try await OperationClock.current.sleep(for: duration)
      return 1
    }
  }

  @Test(arguments: seeds)
  func `run adds the operation with its predecessors and returns its value`(seed: UInt64) throws {
    let world = World(seed: seed)
    let download = ResultOperation(name: "download") { 20 }
    let plain = BlockOperation {}
    download.addDependency(plain)
    let parse = download.then(name: "parse") { $0 + 1 }
    let other = ResultOperation(name: "other") { 2 }
    let store = ResultOperation(name: "store", after: parse, other) { $0 * $1 }
    #expect(try world.simulation.run { try await world.queue.run(store) } == 42)
    #expect(plain.isFinished)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `run leaves operations of other queues in place`() throws {
    let world = World()
    let elsewhere = world.makeQueue()
    let before = ResultOperation { 1 }
    let added = before.then { $0 + 1 }
    elsewhere.addOperation(added)
    // `before` isn't in a queue, and a predecessor of a predecessor.
    let last = added.then { $0 + 1 }
    #expect(try world.simulation.run { try await world.queue.run(last) } == 3)
    // All have finished, so there is nothing to add.
    #expect(try world.simulation.run { try await elsewhere.run(last) } == 3)
  }

  @Test func `run throws the failure of the operation`() throws {
    let world = World()
    let download = ResultOperation<Int>(name: "download") { throw Flaw(1) }
    let parse = download.then(name: "parse") { $0 }
    let failure = #expect(throws: OperationFailure.self) {
      try world.simulation.run { try await world.queue.run(parse) }
    }
    #expect(failure?.elements.first?.origin == .dependency("download"))
  }

  @Test func `run accepts plain queues and operations without a value`() async throws {
    let queue = OperationQueue()
    #expect(try await queue.run(ResultOperation { 1 }.then { $0 + 1 }) == 2)
    let before = Work("before")
    let group = GroupOperation { Work("child") }
    group.addDependency(before)
    try await queue.run(group)
    #expect(before.kind == .succeeded && group.kind == .succeeded)
    await #expect(throws: OperationFailure.self) { try await queue.run(Work.failing()) }
    let skipped = Work()
    skipped.addCondition(Immediate(always: .skipped(reason: "no need")))
    try await queue.run(skipped)
    #expect(skipped.kind == .skipped)
  }

  // MARK: Cancelling

  @Test func `a cancelled run cancels the operations that it added with its reason`() throws {
    let world = World()
    let elsewhere = world.makeQueue()
    let shared = Self.slow("shared")
    elsewhere.addOperation(shared)
    let own = Self.slow("own")
    let waiting = Work("waiting")
    waiting.addDependency(own)
    let last = ResultOperation(name: "last", after: shared, own) { $0 + $1 }
    last.addDependency(waiting)
    let (result, task) = Self.run(last, in: world.queue, world.simulation)
    world.simulation.advance(by: .seconds(30))
    #expect(own.state == .executing)
    task.cancel()
    world.simulation.advance(by: .zero)
    #expect(throws: CancellationError.self) { try result.value?.get() }
    for operation in [own, waiting, last] {
      #expect(operation.kind == .cancelled)
      #expect(operation.cancellationReason is CancellationError)
    }
    #expect(!waiting.didExecute)
    world.simulation.run()
    #expect(shared.kind == .succeeded)
  }

  @Test func `a run in a cancelled task adds its operations as cancelled`() throws {
    let world = World()
    let first = Work("first")
    let last = ResultOperation { 1 }
    last.addDependency(first)
    let (result, task) = Self.run(last, in: world.queue, world.simulation)
    task.cancel()
    world.simulation.run()
    #expect(throws: CancellationError.self) { try result.value?.get() }
    #expect(first.kind == .cancelled && last.kind == .cancelled)
    #expect(!first.didExecute)
    #expect(world.queue.operationCount == 0)
  }

  @Test(.heavy) func `a run may be cancelled at any moment`() throws {
    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let first = Work("first")
      let second = Work("second")
      second.addDependency(first)
      let last = ResultOperation(name: "last") { 1 }
      last.addDependency(second)
      let (result, task) = Self.run(last, in: queue, simulation)
      simulation.addStep("hang up") { task.cancel() }
      simulation.run()
      switch result.value {
      case .success(let value): try #require(value == 1 && last.kind == .succeeded)
      case .failure(let error): try #require(error is CancellationError)
      case nil: Issue.record("run has not returned")
      }
      try #require(first.isFinished && second.isFinished && last.isFinished)
      try #require(queue.operationCount == 0)
      if first.kind == .cancelled { try #require(!second.didExecute) }
    }
    #expect(report.isComplete)
  }

  // MARK: Several

  @Test(arguments: seeds)
  func `two runs add a shared operation once`(seed: UInt64) throws {
    let world = World(seed: seed)
    let shared = ResultOperation(name: "shared") { 1 }
    let (first, second) = (shared.then { $0 + 1 }, shared.then { $0 + 2 })
    let sum = try world.simulation.run {
      async let one = world.queue.run(first)
      async let two = world.queue.run(second)
      async let again = world.queue.run(first)
      return try await one + two + again
    }
    #expect(sum == 7)
  }

  @Test(.heavy) func `runs on many threads add a shared operation once`() async throws {
    let queue = AdvancedOperationQueue()
    for _ in 0..<50 {
      let shared = ResultOperation { 1 }
      let plain = BlockOperation {}
      shared.addDependency(plain)
      let sum = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<8 {
          let own = shared.then { $0 + number }
          own.addDependency(plain)
          group.addTask { try await queue.run(own) }
        }
        return try await group.reduce(0, +)
      }
      #expect(sum == 36)
    }
  }

  @Test(arguments: [0, 1])
  func `a cancelled run leaves shared operations to the other run`(first: Int) throws {
    let world = World()
    let shared = Self.slow("shared")
    let dependents = [shared.then { $0 + 1 }, shared.then { $0 + 2 }]
    let calls = dependents.map { Self.run($0, in: world.queue, world.simulation) }
    world.simulation.advance(by: .seconds(30))
    calls[first].task.cancel()
    world.simulation.advance(by: .zero)
    #expect(throws: CancellationError.self) { try calls[first].result.value?.get() }
    #expect(dependents[first].kind == .cancelled)
    #expect(shared.state == .executing && !shared.isCancelled)
    world.simulation.run()
    #expect(try calls[1 - first].result.value?.get() == 3 - first)
  }

  @Test func `a shared operation is cancelled with the last of its runs`() throws {
    let world = World()
    let elsewhere = world.makeQueue()
    let shared = Self.slow("shared")
    let dependents = [shared.then { $0 + 1 }, shared.then { $0 + 2 }]
    let calls = zip(dependents, [world.queue, elsewhere])
      .map { Self.run($0, in: $1, world.simulation) }
    world.simulation.advance(by: .seconds(30))
    for call in calls {
      #expect(!shared.isCancelled)
      call.task.cancel()
      world.simulation.advance(by: .zero)
    }
    world.simulation.run()
    for operation in [shared] + dependents {
      #expect(operation.kind == .cancelled)
      #expect(operation.cancellationReason is CancellationError)
    }
  }

  @Test func `a run continues if another run of the same operation is cancelled`() throws {
    let world = World()
    let operation = Self.slow("operation")
    let calls = (0..<2).map { _ in Self.run(operation, in: world.queue, world.simulation) }
    world.simulation.advance(by: .seconds(30))
    calls[0].task.cancel()
    world.simulation.run()
    #expect(throws: CancellationError.self) { try calls[0].result.value?.get() }
    #expect(try calls[1].result.value?.get() == 1)
  }

  @Test(arguments: [false, true])
  func `a cancelled run leaves a prerequisite to the condition that needs it`(
    addedByCondition: Bool
  ) throws {
    let world = World()
    let prerequisite = Self.slow("prerequisite")
    let work = Work("work")
    work.addCondition(Asked(prerequisite: { _ in prerequisite }))
    if addedByCondition {
      world.queue.addOperation(work)
      world.simulation.advance(by: .zero)
    }
    let call = Self.run(prerequisite, in: world.queue, world.simulation)
    world.simulation.advance(by: .zero)
    if !addedByCondition { world.queue.addOperation(work) }
    world.simulation.advance(by: .seconds(30))
    call.task.cancel()
    world.simulation.run()
    #expect(prerequisite.kind == .succeeded)
    #expect(work.kind == .succeeded)
    #expect(throws: CancellationError.self) { try call.result.value?.get() }
  }

  @Test(arguments: [false, true])
  func `a run keeps its prerequisite until its own task is cancelled`(
    isCancelled: Bool
  ) throws {
    let world = World()
    let prerequisite = Self.slow("prerequisite")
    let work = Work("work")
    work.addCondition(Asked(prerequisite: { _ in prerequisite }))
    world.queue.addOperation(work)
    world.simulation.advance(by: .zero)
    let call = Self.run(prerequisite, in: world.queue, world.simulation)
    world.simulation.advance(by: .seconds(30))
    work.cancel()
    world.simulation.advance(by: .zero)
    #expect(prerequisite.state == .executing && !prerequisite.isCancelled)
    if isCancelled { call.task.cancel() }
    world.simulation.run()
    #expect(prerequisite.kind == (isCancelled ? .cancelled : .succeeded))
    if !isCancelled { #expect(try call.result.value?.get() == 1) }
  }

  @Test func `a run that has returned doesn't retain shared operations`() throws {
    let world = World()
    let (shared, failing) = (Self.slow("shared"), ResultOperation<Int> { throw Flaw(1) })
    // Fails with its input, and doesn't wait for the other one.
    let early = ResultOperation(name: "early", after: shared, failing) { $0 + $1 }
    let late = shared.then(name: "late") { $0 + 1 }
    let calls = [early, late].map { Self.run($0, in: world.queue, world.simulation) }
    world.simulation.advance(by: .seconds(30))
    #expect(throws: OperationFailure.self) { try calls[0].result.value?.get() }
    #expect(!shared.isCancelled)
    calls[1].task.cancel()
    world.simulation.run()
    #expect(shared.kind == .cancelled && late.kind == .cancelled)
  }

  @Test(.heavy) func `a cancelled run lets the other run return its value`() throws {
    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let shared = Self.slow("shared")
      let (first, second) = (shared.then { $0 }, shared.then { $0 + 1 })
      let cancelled = Self.run(first, in: queue, simulation)
      let other = Self.run(second, in: queue, simulation)
      // Both calls wait by then, and the shared operation ends at that moment.
      let hangUp = simulation.environment.clock.schedule(at: .seconds(60)) {
        cancelled.task.cancel()
      }
      simulation.run()
      withExtendedLifetime(hangUp) {}
      try #require(try other.result.value?.get() == 2)
      try #require(shared.kind == .succeeded)
      switch cancelled.result.value {
      case .success(let value): try #require(value == 1)
      case .failure(let error): try #require(error is CancellationError)
      case nil: Issue.record("run has not returned")
      }
      try #require(queue.operationCount == 0)
    }
    #expect(report.scheduleCount > 1)
  }

  @Test func `running a long chain needs no deep stack`() throws {
    let world = World()
    var last = ResultOperation { 0 }
    let count = Effort.size(20_000, ordinarily: 10_000)
    for _ in 1...count { last = last.then { $0 + 1 } }
    let operation = last
    #expect(try world.simulation.run { try await world.queue.run(operation) } == count)
  }

  // MARK: Cycles

  @Test func `a run in a body that holds the needed slot throws the cycle`() throws {
    let world = World(limit: 1)
    let before = Work("before")
    let inner = ResultOperation(name: "inner") { 1 }
    inner.addDependency(before)
    let outer = ResultOperation(name: "outer") { try await world.queue.run(inner) }
    let failure = #expect(throws: OperationFailure.self) {
      try world.simulation.run { try await world.queue.run(outer) }
    }
    #expect(failure?.errors.first is OperationCycleError)
    world.simulation.run()
    for operation in [before, inner] {
      #expect(operation.kind == .cancelled)
      #expect(operation.cancellationReason is OperationCycleError)
    }
    #expect(world.queue.operationCount == 0)
  }

  @Test func `a run of a cycle throws the cycle error`() throws {
    let world = World()
    let (first, last) = (Work("first"), ResultOperation(name: "last") { 1 })
    first.addDependency(last)
    last.addDependency(first)
    let failure = #expect(throws: OperationFailure.self) {
      try world.simulation.run { try await world.queue.run(last) }
    }
    #expect(failure?.errors.first is OperationCycleError)
  }

  // MARK: Groups

  @Test(arguments: [false, true])
  func `run adds the group of a predecessor and its children's dependencies`(isPlain: Bool) throws {
    let world = World()
    let before = Work("before")
    let child = ResultOperation(name: "child") { 3 }
    let sibling: Operation = isPlain ? BlockOperation {} : Work("sibling")
    child.addDependency(before)
    sibling.addDependency(child)
    let group = GroupOperation(name: "group") {
      child
      sibling
    }
    let outer = GroupOperation(name: "outer") { group }
    let last = child.then(name: "last") { $0 + 1 }
    #expect(try world.simulation.run { try await world.queue.run(last) } == 4)
    world.simulation.run()
    #expect(outer.kind == .succeeded && group.kind == .succeeded && before.kind == .succeeded)
  }

  @Test func `a run ends if a cycle leads through a child and its group`() throws {
    let world = World()
    let (a, b) = (Work("a"), Work("b"))
    a.addDependency(b)
    b.addDependency(a)
    let group = GroupOperation(name: "group") {
      a
      b
    }
    #expect(throws: OperationFailure.self) {
      try world.simulation.run { try await world.queue.run(group) }
    }
    #expect(world.queue.operationCount == 0)
  }
}
