import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `A scope of operations` {
  /// Runs a closure in a scope whose task and operations are simulated, and returns what came out.
  private static func scope<Value: Sendable>(
    _ world: World,
    _ body: @escaping @Sendable (OperationScope) async throws -> Value
  ) -> (result: Changing<Result<Value, any Error>?>, task: Task<Void, Never>) {
    let result = Changing<Result<Value, any Error>?>(nil)
    let environment = world.simulation.environment
    let executor = environment.executor as? any TaskExecutor
    let task = Task(executorPreference: executor) {
      do {
        result.value = .success(try await withOperations(environment: environment, body))
      } catch {
        result.value = .failure(error)
      }
    }
    return (result, task)
  }

  private static func failure<Value>(
    _ result: Changing<Result<Value, any Error>?>
  )
    -> OperationFailure?
  {
    guard case .failure(let error) = result.value else { return nil }
    return error as? OperationFailure
  }

  @Test(arguments: seeds)
  func `a scope returns its body's result after all operations have left`(seed: UInt64) {
    let world = World(seed: seed)
    let slow = DelayOperation(.seconds(60))
    let (result, _) = Self.scope(world) { scope in
      scope.add(slow)
      let number = scope.add(ResultOperation { 7 })
      return try await number.value
    }
    world.simulation.advance(by: .seconds(30))
    #expect(result.value == nil, "the body has returned, and an operation runs")
    world.simulation.run()
    #expect((try? result.value?.get()) == 7)
    #expect(slow.kind == .succeeded)
    #expect(world.simulation.now == .seconds(60))
  }

  @Test func `an empty scope ends immediately`() {
    let world = World()
    let (result, _) = Self.scope(world) { _ in 1 }
    world.simulation.run()
    #expect((try? result.value?.get()) == 1)
  }

  @Test(arguments: seeds)
  func `a scope waits for completion blocks, produced operations and their departure`(seed: UInt64)
  {
    let world = World(seed: seed)
    let log = Log<String>()
    let child = DelayOperation(.seconds(10))
    child.onFinish { _, _ in log.add("produced") }
    let block = BlockOperation { log.add("block") }
    block.completionBlock = { log.add("completion") }
    let finishedEarly = ResultOperation {
      AdvancedOperation.current?.finish()
      try? await world.simulation.environment.clock.sleep(until: .seconds(20))
      log.add("quiet")
    }
    let (result, _) = Self.scope(world) { scope in
      scope.add(
        Work { work in
          #expect(throws: Never.self) { try work.produce(child) }
          work.finish()
        }
      )
      scope.add(block)
      scope.add(finishedEarly)
      return log
    }
    world.simulation.advance(by: .seconds(15))
    #expect(finishedEarly.isFinished)
    #expect(result.value == nil)
    world.simulation.run()
    #expect(result.value != nil)
    #expect(Set(log.entries) == ["produced", "block", "completion", "quiet"])
  }

  @Test(arguments: seeds)
  func `operations may add others while their scope ends`(seed: UInt64) {
    let world = World(seed: seed)
    let depth = Counter()
    @Sendable func grow(_ scope: OperationScope, _ left: Int) {
      scope.add(
        Work { work in
          depth.add()
          if left > 0 { grow(scope, left - 1) }
          work.finish()
        }
      )
    }
    let (result, _) = Self.scope(world) { scope in grow(scope, 20) }
    world.simulation.run()
    #expect(depth.count == 21)
    #expect((try? result.value?.get()) != nil)
  }

  // MARK: Errors

  @Test(arguments: seeds)
  func `a failing operation in a scope doesn't cancel its siblings and is thrown`(seed: UInt64) {
    let world = World(seed: seed)
    let slow = DelayOperation(.seconds(60))
    let (result, _) = Self.scope(world) { scope in
      scope.add(Work.failing("first", 1))
      scope.add(slow)
      scope.add(Work.failing("second", 2))
    }
    world.simulation.run()
    #expect(slow.kind == .succeeded)
    let failure = Self.failure(result)
    #expect(failure?.elements.map(\.origin) == [.child("first", .body), .child("second", .body)])
    #expect(flaws(failure?.errors ?? []) == [1, 2], "in the order of adding")
  }

  @Test(arguments: seeds)
  func `a scope throws root causes once and counts the other operations`(seed: UInt64) {
    let world = World(seed: seed)
    let (result, _) = Self.scope(world) { scope in
      let first = scope.add(ResultOperation<Int>(name: "first") { throw Flaw(1) })
      var last = first
      for _ in 0..<9 { last = scope.add(last.then { $0 + 1 }) }
    }
    world.simulation.run()
    let failure = Self.failure(result)
    #expect(failure?.elements.map(\.origin) == [.child("first", .body)])
    #expect(failure?.notRunCount == 9)
    #expect(
      failure?.description == """
        child “first”
          flaw 1
        9 others did not run
        """
    )
  }

  @Test func `a failed group in a scope counts its own unexecuted children`() {
    let world = World()
    let (result, _) = Self.scope(world) { scope in
      let first = ResultOperation<Int>(name: "first") { throw Flaw(1) }
      scope.add(GroupOperation(name: "group") { [first, first.then { $0 }] })
    }
    world.simulation.run()
    let failure = Self.failure(result)
    #expect(failure?.elements.map(\.origin) == [.child("group", .child("first", .body))])
    #expect(failure?.notRunCount == 1)
  }

  @Test(arguments: seeds)
  func `a scope whose body throws cancels running operations and throws the error`(seed: UInt64) {
    let world = World(seed: seed)
    let slow = DelayOperation(.seconds(60))
    let waiting = Work("waiting")
    waiting.addDependency(slow)
    let late = Work("late")
    let polite = Work("polite", policy: .whenFinishIsCalled) { work in
      work.onCancel { _, _ in late.name = "added" }
    }
    let (result, _) = Self.scope(world) { scope in
      scope.add(slow)
      scope.add(waiting)
      scope.add(polite)
      polite.onCancel { operation, _ in
        scope.add(late)
        operation.finish()
      }
      try await world.simulation.environment.clock.sleep(until: .seconds(5))
      throw Flaw(1)
    }
    world.simulation.run()
    guard case .failure(let error) = result.value else {
      Issue.record("it returned")
      return
    }
    #expect(error as? Flaw == Flaw(1), "the body's own error")
    #expect([slow, waiting, late].allSatisfy { $0.kind == .cancelled })
    #expect(!late.didExecute && !waiting.didExecute)
    #expect(slow.cancellationReason as? Flaw == Flaw(1))
    #expect(world.simulation.now == .seconds(5))
  }

  @Test(arguments: seeds)
  func `an operation cancelled as unneeded isn't an error of the scope`(seed: UInt64) {
    let world = World(seed: seed)
    let (result, _) = Self.scope(world) { scope in
      let mirrors = (1...3).map { number in
        scope.add(DelayOperation(.seconds(10 * number)))
      }
      try await mirrors[0].untilFinished()
      scope.cancelAll()
      return mirrors.map(\.kind).count
    }
    world.simulation.run()
    #expect((try? result.value?.get()) == 3)
    #expect(world.simulation.now == .seconds(10))
  }

  @Test func `an operation that was cancelled with a reason is an error`() {
    let world = World()
    let (result, _) = Self.scope(world) { scope in
      let slow = DelayOperation(.seconds(60))
      slow.name = "slow"
      slow.addObserver(TimeoutObserver(.seconds(5)))
      scope.add(slow)
    }
    world.simulation.run()
    #expect(Self.failure(result)?.elements.map(\.origin) == [.child("slow", .timeout)])
  }

  // MARK: Cancelling

  @Test(arguments: seeds)
  func `cancelling the task cancels its scope and waits for it`(seed: UInt64) {
    let world = World(seed: seed)
    let slow = DelayOperation(.seconds(60))
    let waiting = Work("waiting")
    waiting.addDependency(slow)
    let gate = Latch()
    let polite = ResultOperation { await gate.opened() }
    let (result, task) = Self.scope(world) { scope in
      scope.add(slow)
      scope.add(waiting)
      scope.add(polite)
    }
    world.simulation.advance(by: .seconds(5))
    task.cancel()
    world.simulation.run()
    #expect(slow.kind == .cancelled && waiting.kind == .cancelled)
    #expect(slow.cancellationReason is CancellationError)
    #expect(polite.isCancelled)
    #expect(result.value == nil, "a body of an operation goes on")
    gate.open()
    world.simulation.run()
    guard case .failure(let error) = result.value else {
      Issue.record("it returned")
      return
    }
    #expect(error is CancellationError)
    #expect(world.simulation.now == .seconds(5))
  }

  @Test func `an earlier failure is thrown even if the scope is cancelled`() {
    let world = World()
    let (result, task) = Self.scope(world) { scope in
      scope.add(Work.failing("failing", 1))
      scope.add(DelayOperation(.seconds(60)))
    }
    world.simulation.advance(by: .seconds(5))
    task.cancel()
    world.simulation.run()
    #expect(flaws(Self.failure(result)?.errors ?? []) == [1])
  }

  @Test func `a cancel after all operations of a scope finished changes nothing`() {
    let world = World()
    let gate = Latch()
    let (result, task) = Self.scope(world) { scope in
      scope.add(Work())
      await gate.opened()
      return 1
    }
    world.simulation.run()
    task.cancel()
    gate.open()
    world.simulation.run()
    #expect((try? result.value?.get()) == 1)
  }

  // MARK: On threads

  @Test(.watched) func `a scope runs on its caller's actor`() async throws {
    try await onMainActor()
  }

  @MainActor private func onMainActor() async throws {
    var sum = 0
    let value = try await withOperations { scope in
      sum += try await scope.add(ResultOperation { 1 }).value
      MainActor.assertIsolated()
      return sum
    }
    #expect(value == 1)
  }

  @Test(.watched)
  func `a scope in an operation of a serial queue runs its operations`() async throws {
    let queue = AdvancedOperationQueue()
    queue.maxConcurrentOperationCount = 1
    let work = ResultOperation {
      try await withOperations { scope in
        let first = scope.add(ResultOperation { 1 })
        return try await scope.add(first.then { $0 + 1 }).value
      }
    }
    queue.addOperation(work)
    #expect(try await work.value == 2)
  }

  @Test(.watched)
  func `a scope that is cancelled at any time ends and releases everything`() async throws {
    let live = LiveCount()
    for round in 0..<Effort.rounds(200) {
      let ended = Counter()
      let task = Task {
        try await withOperations { scope in
          for _ in 0..<5 {
            let work = scope.add(Work(token: live.token()))
            work.onFinish { _, _ in ended.add() }
            await Task.yield()
          }
        }
        return ended.count
      }
      for _ in 0..<(round % 8) { await Task.yield() }
      task.cancel()
      switch await task.result {
      case .success(let count): #expect(count == 5)
      case .failure(let error): #expect(error is CancellationError)
      }
      #expect(ended.count == 5, "nothing outlives the scope")
    }
    await live.none()
  }

  @Test func `a scope with a plain operation that no one retains returns`() {
    let world = World()
    let (result, _) = Self.scope(world) { scope in
      scope.add(BlockOperation {})
      return 1
    }
    world.simulation.run()
    #expect((try? result.value?.get()) == 1)
  }

  @Test(.watched) func `a scope with an unretained plain operation returns on threads`()
    async throws
  {
    let gate = Latch()
    let value = try await withOperations { scope in
      scope.add(BlockOperation { gate.pass() })
      gate.open()
      return 1
    }
    #expect(value == 1)
  }

  @Test func `a cancel that stops no operation of a scope changes nothing`() {
    let world = World()
    let task = Changing<Task<Void, Never>?>(nil)
    let last = Work("last")
    last.addObserver(BlockObserver(willFinish: { _, _ in task.value?.cancel() }))
    let (result, scope) = Self.scope(world) { scope in
      scope.add(last)
      return 1
    }
    task.value = scope
    world.simulation.run()
    #expect(scope.isCancelled)
    #expect(last.kind == .succeeded)
    #expect((try? result.value?.get()) == 1)
  }

  // MARK: Many failures

  private final class Failing: AdvancedOperation, @unchecked Sendable {
    // Sendable: all stored properties are immutable.
    private let token: Token
    private let flaw: Int

    init(_ flaw: Int, _ token: Token) {
      self.flaw = flaw
      self.token = token
      super.init(name: "failing \(flaw)")
    }

    override func execute() { finish(withError: Flaw(flaw)) }
  }

  @Test func `a scope keeps the first and last of many failures and counts others`() throws {
    let world = World()
    let alive = LiveCount()
    let most = Changing(0)
    let (result, _) = Self.scope(world) { scope in
      for number in 1...2_000 {
        let failing = scope.add(Failing(number, alive.token()))
        try await failing.untilFinished()
        most.value = max(most.value, alive.alive)
      }
    }
    world.simulation.run()
    #expect(alive.made == 2_000)
    #expect(most.value <= 260)
    let failure = try #require(Self.failure(result))
    #expect(flaws(failure.errors) == Array(1...64) + Array(1_937...2_000))
    let lines = failure.description.split(separator: "\n")
    #expect(
      lines[126...130] == [
        "child “failing 64”", "  flaw 64", "… 1872 more failed operations …",
        "child “failing 1937”", "  flaw 1937",
      ]
    )
    #expect(
      failure.summary(limit: 1)
        == "child “failing 1”: flaw 1; 127 more errors; … 1872 more failed operations …"
    )
  }

  @Test func `a scope keeps no failures that were recovered from`() {
    let world = World()
    let alive = LiveCount()
    let most = Changing(0)
    let (result, _) = Self.scope(world) { scope in
      for number in 1...700 {
        let token = alive.token()
        let failing = ResultOperation<Int>(name: "failing") {
          token.touch()
          throw Flaw(number)
        }
        let recovered = failing.recover { _ in
          token.touch()
          return number
        }
        scope.add(failing)
        _ = try await scope.add(recovered).value
        most.value = max(most.value, alive.alive)
      }
      return most.value
    }
    world.simulation.run()
    #expect((try? result.value?.get()) ?? .max <= 260)
  }

  @Test func `a scope doesn't drop failures that may still be recovered from`() {
    let world = World()
    let (result, _) = Self.scope(world) { scope in
      let works = (1...1_000).map { number in
        ResultOperation<Int>(name: "failing \(number)") { throw Flaw(number) }
      }
      let recovered = works.map { work in work.recover { _ in 7 } }
      for work in works { scope.add(work) }
      for work in works { try? await work.untilFinished() }
      for work in recovered { scope.add(work) }
    }
    world.simulation.run()
    #expect(throws: Never.self) { try result.value?.get() }
  }

  @Test func `a scope counts an operation as not run although its input was dropped`() throws {
    let world = World()
    let (result, _) = Self.scope(world) { scope in
      let works = (1...1_000).map { number in
        ResultOperation<Int>(name: "failing \(number)") { throw Flaw(number) }
      }
      for work in works { scope.add(work) }
      for work in works { try? await work.untilFinished() }
      scope.add(works[499].then(name: "next") { $0 })
    }
    world.simulation.run()
    let failure = try #require(Self.failure(result))
    #expect(flaws(failure.errors) == Array(1...64) + Array(938...1_000))
    #expect(failure.notRunCount == 1)
    #expect(failure.description.contains("… 873 more failed operations …"))
  }
}
