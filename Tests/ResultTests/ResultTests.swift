import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite(.watched) struct `An operation with a result` {
  @Test(arguments: seeds)
  func `a result operation has its result when didFinish is called`(seed: UInt64) async throws {
    let world = World(seed: seed)
    let work = ResultOperation(name: "work") {
      await Task.yield()
      return 42
    }
    let seen = Log<Int?>()
    work.onFinish { work, _ in seen.add(try? work.result?.get()) }
    #expect(work.result == nil)
    world.run(work)
    #expect(seen.entries == [42])
    #expect(try await work.value == 42)
    #expect(work.kind == .succeeded)
  }

  @Test func `optional and Void values are returned unchanged`() async throws {
    let world = World()
    let none = ResultOperation { () -> Int? in nil }
    let some = ResultOperation { () -> Int?? in .some(nil) }
    let nothing = ResultOperation {}
    let mixed = ResultOperation { () -> (any Sendable)? in 1 }
    let function = ResultOperation { () -> @Sendable (Int) -> Int in { $0 + 1 } }
    world.run(none, some, nothing, mixed, function)
    #expect(try await none.value == nil)
    #expect(try await some.value == Int??.some(nil))
    try await nothing.value
    #expect(try await mixed.value as? Int == 1)
    #expect(try await function.value(1) == 2)
  }

  @Test func `cancelled waits for a value leave nothing behind`() async {
    let work = ResultOperation { 42 }
    let steps = ManualTasks()
    let waits = (0..<3).map { _ in Task(executorPreference: steps) { try await work.value } }
    steps.runAll()
    for wait in waits {
      #expect(work.hasDependents)
      wait.cancel()
    }
    #expect(!work.hasDependents)
    #expect(!work.isCancelled && !work.isFinished)
    steps.runAll()
    for wait in waits { await #expect(throws: CancellationError.self) { try await wait.value } }
  }

  @Test func `a body that throws fails its operation with that error`() async throws {
    let world = World()
    let work = ResultOperation { () async throws -> Int in throw Flaw(1) }
    world.run(work)
    #expect(work.kind == .failed)
    #expect(work.origins == [.body])
    let failure = await #expect(throws: OperationFailure.self) { try await work.value }
    #expect(flaws(failure?.errors ?? []) == [1])
  }

  @Test func `an operation whose condition fails throws the condition's failure`() async throws {
    let world = World()
    let work = ResultOperation { 1 }
    work.addCondition(Immediate("weather", always: .failed(Flaw(1))))
    world.run(work)
    let failure = await #expect(throws: OperationFailure.self) { try await work.value }
    #expect(failure?.elements.map(\.origin) == [.condition("weather")])
  }

  @Test func `a skipped operation throws a skip that isn't one of its errors`() async throws {
    let world = World()
    let work = ResultOperation { 1 }
    work.addCondition(Immediate(always: .skipped(reason: "no need")))
    world.run(work)
    #expect(work.errors.isEmpty)
    #expect(work.kind == .skipped)
    let failure = await #expect(throws: OperationFailure.self) { try await work.value }
    #expect(failure?.elements.map(\.origin) == [.skipped(reason: "no need")])
    #expect(failure?.errors.first as? OperationSkipped == OperationSkipped(reason: "no need"))
  }

  @Test(arguments: seeds)
  func `a value that is returned after a cancel is dropped`(seed: UInt64) async throws {
    let world = World(seed: seed)
    let gate = Latch()
    let work = ResultOperation {
      await gate.opened()
      return 1
    }
    world.run(work)
    work.cancel(withError: Flaw(3))
    #expect(work.state == .executing)
    gate.open()
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(work.flawNumbers == [3])
    let failure = await #expect(throws: OperationFailure.self) { try await work.value }
    #expect(failure?.elements.map(\.origin) == [.cancel])
  }

  @Test(arguments: seeds)
  func `a cancel cancels the task and its CancellationError isn't an error`(seed: UInt64) {
    let world = World(seed: seed)
    let work = ResultOperation {
      guard let clock = AdvancedOperation.current?.environment.clock else { return }
      try await clock.sleep(until: .seconds(1_000))
    }
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(1))
    work.cancel()
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(work.errors.isEmpty)
    #expect(world.simulation.now == .seconds(1))
  }

  @Test func `a CancellationError without a cancel is an error of the body`() {
    let world = World()
    let work = ResultOperation { () async throws -> Int in throw CancellationError() }
    world.run(work)
    #expect(work.kind == .failed)
    #expect(work.errors.first is CancellationError)
  }

  @Test func `an operation that is cancelled before its start runs no body`() {
    let world = World()
    let ran = Counter()
    let work = ResultOperation { ran.add() }
    work.cancel()
    world.run(work)
    #expect(ran.count == 0)
    #expect(work.kind == .cancelled)
  }

  @Test func `an operation that its body finishes fails unless it has no value`() throws {
    let world = World()
    let early = ResultOperation(name: "early") {
      AdvancedOperation.current?.finish()
      return 1
    }
    let next = early.then(name: "next") { $0 }
    let after = Work("after")
    after.addDependency(early)
    after.addCondition(.allSucceeded)
    let nothing = ResultOperation(name: "nothing") { () async throws -> Void in
      AdvancedOperation.current?.finish()
    }
    let last = nothing.then(name: "last") { "done" }
    world.run(early, next, after, nothing, last)
    #expect([early.kind, next.kind, after.kind] == [.failed, .failed, .failed])
    #expect(
      early.outcome?.failure?.description
        == "finish() was called before the operation had its value."
    )
    #expect(throws: OperationFailure.self) { try early.result?.get() }
    #expect(nothing.kind == .succeeded)
    #expect(try last.result?.get() == "done")
  }

  @Test func `an operation that is finished from outside has no value`() async throws {
    let world = World()
    let gate = Latch()
    let work = ResultOperation {
      await gate.opened()
      return 1
    }
    world.run(work)
    work.finish()
    #expect(work.kind == .failed)
    await #expect(throws: OperationFailure.self) { try await work.value }
    gate.open()
    world.simulation.run()
    await #expect(throws: OperationFailure.self) { try await work.value }
  }

  // MARK: Waiting for the value

  @Test func `cancelling a wait for a value leaves the operation alone`() async throws {
    let queue = AdvancedOperationQueue()
    let (entered, leave) = (Latch(), Latch())
    let work = ResultOperation {
      entered.open()
      await leave.opened()
      return 1
    }
    queue.addOperation(work)
    await entered.opened()
    let wait = Task { try await work.value }
    wait.cancel()
    await #expect(throws: CancellationError.self) { try await wait.value }
    #expect(!work.isCancelled)
    leave.open()
    #expect(try await work.value == 1)
  }

  @Test func `many tasks may wait for the same value`() async throws {
    let queue = AdvancedOperationQueue()
    let gate = Latch()
    let work = ResultOperation {
      await gate.opened()
      return 5
    }
    queue.addOperation(work)
    let sum = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<100 { group.addTask { try await work.value } }
      gate.open()
      return try await group.reduce(0, +)
    }
    #expect(sum == 500)
  }

  // MARK: The current operation

  @Test(arguments: seeds)
  func `a body sees its operation as current even after a suspension`(seed: UInt64) {
    let world = World(seed: seed)
    let works = (0..<4).map { number in
      ResultOperation(name: "w\(number)") {
        var names: [String?] = []
        for _ in 0..<3 {
          names.append(AdvancedOperation.current?.name)
          await Task.yield()
        }
        return names
      }
    }
    world.queue.addOperations(works)
    world.simulation.run()
    for work in works {
      #expect((try? work.result?.get()) == Array(repeating: work.name, count: 3))
    }
    #expect(AdvancedOperation.current == nil)
  }

  @Test func `execute and conditions see their operation as current and observers don't`() {
    let world = World()
    let seen = Log<AdvancedOperation?>()
    let work = Work { work in
      seen.add(AdvancedOperation.current)
      work.finish()
    }
    work.addCondition(
      Asked { _ in
        seen.add(AdvancedOperation.current)
        return .satisfied
      }
    )
    work.onStart { _ in seen.add(AdvancedOperation.current) }
    world.run(work)
    #expect(seen.entries == [work, nil, work])
    #expect(AdvancedOperation.current == nil)
  }

  @Test func `an operation within another's execute doesn't change the current operation`() {
    let seen = Log<AdvancedOperation?>()
    let inner = Work("inner") { work in
      seen.add(AdvancedOperation.current)
      work.finish()
    }
    let outer = Work("outer") { work in
      inner.start()
      seen.add(AdvancedOperation.current)
      work.finish()
    }
    outer.start()
    #expect(seen.entries == [inner, outer])
  }
}
