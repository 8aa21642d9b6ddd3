import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// What makes operations gives the value of what it ran.
@Suite struct `The value of operations that are created` {
  @Test func `a retry operation returns the value of the successful attempt`() throws {
    let world = World()
    let retrying = RetryOperation(name: "retry", retry: .immediate.attempts(3)) { attempt in
      ResultOperation(name: "attempt") {
        if attempt < 3 { throw Flaw(attempt) }
        return "attempt \(attempt)"
      }
    }
    let next = retrying.then { text in text + ", and on" }
    world.run(retrying, next)
    #expect(try retrying.result?.get() == "attempt 3")
    #expect(try next.result?.get() == "attempt 3, and on")
  }

  @Test func `a retry operation that fails also fails operations that need its value`() {
    let world = World()
    let retrying = RetryOperation(retry: .immediate.attempts(2)) { attempt in
      ResultOperation { () async throws -> Int in throw Flaw(attempt) }
    }
    let next = retrying.then { number in number + 1 }
    world.run(retrying, next)
    #expect(retrying.flawNumbers == [1, 2])
    #expect(retrying.origins == [.attempt(1, .body), .attempt(2, .body)])
    #expect(next.kind == .failed)
  }

  @Test func `attempts of different types return no value`() {
    let world = World()
    let retrying = RetryOperation(retry: .immediate.attempts(3)) { attempt in
      if attempt < 3 { return Work.failing() }
      return ResultOperation { 1 }
    }
    world.run(retrying)
    let value: Void? = try? retrying.result?.get()
    #expect(value != nil)
  }

  @Test func `a repeat operation returns the last successful round's value`() throws {
    let world = World()
    let repeating = RepeatOperation(times: nil) { round -> ResultOperation<Int>? in
      if round > 3 { return nil }
      return ResultOperation {
        if round == 3 { throw Flaw(3) }
        return round
      }
    }
    repeating.mapRoundErrors { _, _ in nil }
    let next = repeating.then { last in last ?? 0 }
    world.run(repeating, next)
    #expect(try next.result?.get() == 2)
  }

  @Test(arguments: seeds)
  func `chains that closures create run as a whole`(seed: UInt64) throws {
    let world = World(seed: seed)
    let retrying = RetryOperation(retry: .immediate.attempts(2)) { attempt in
      ResultOperation(name: "first") {
        if attempt == 1 { throw Flaw(1) }
        return "text"
      }.then { text in text.count }
    }
    let repeating = RepeatOperation(times: 2) { round in
      ResultOperation { round }.then { number in number * 10 }
    }
    let recovering = ResultOperation { () async throws -> Int in throw Flaw(2) }
      .recover { _ in
        let plain = BlockOperation {}
        let made = ResultOperation { 20 }.then { number in number + 2 }
        made.addDependency(plain)
        return made
      }
    world.queue.addOperations([retrying, repeating, recovering] + recovering.dependencies)
    world.simulation.run()
    #expect(try retrying.result?.get() == 4)
    #expect(try repeating.result?.get() == 20)
    #expect(try recovering.result?.get() == 22)
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `a chain that a closure created leaves with its cancelled operation`(seed: UInt64) {
    let world = World(seed: seed)
    let first = Work.open("first")
    let retrying = RetryOperation(retry: .immediate.attempts(2)) { _ in
      let last = Work("last")
      last.addDependency(first)
      return last
    }
    world.run(retrying)
    #expect(first.isExecuting)
    retrying.cancel(withError: Flaw(1))
    world.simulation.run()
    #expect(first.isFinished && retrying.kind == .cancelled)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `a repeat operation without rounds returns nil`() throws {
    let world = World()
    let repeating = RepeatOperation(times: 0) { _ in ResultOperation { 1 } }
    world.run(repeating)
    #expect(try repeating.result?.get() == .some(nil))
  }

  @Test(arguments: seeds)
  func `a cancelled creating operation cancels the operation it runs`(seed: UInt64) {
    let world = World(seed: seed)
    let made = Log<AdvancedOperation>()
    let clock = world.simulation.environment.clock
    let make: @Sendable (Int) -> ResultOperation<Int> = { number in
      let operation = ResultOperation {
        try await clock.sleep(until: .seconds(100))
        return number
      }
      made.add(operation)
      return operation
    }
    let retrying = RetryOperation(retry: .immediate.attempts(2), make: make)
    let repeating = RepeatOperation(times: 2) { make($0) }
    let failing = ResultOperation { () async throws -> Int in throw Flaw(1) }
    let recovering = failing.recover { _ in make(1) }
    world.queue.addOperations([retrying, repeating, failing, recovering])
    world.simulation.run(until: .seconds(10))
    for operation in [retrying, repeating, recovering] { operation.cancel(withError: Flaw(7)) }
    world.simulation.run()
    #expect(world.simulation.now == .seconds(10))
    #expect(made.entries.count == 3)
    #expect(made.entries.allSatisfy { $0.kind == .cancelled && $0.flawNumbers == [7] })
    #expect([retrying, repeating, recovering].allSatisfy { $0.kind == .cancelled })
    #expect(world.queue.operationCount == 0)
  }

  @Test func `an array of inputs keeps its order including repetitions`() throws {
    let world = World()
    let numbers = (1...5).map { number in ResultOperation(name: "\(number)") { number } }
    let sum = ResultOperation(name: "sum", afterAll: numbers + [numbers[0]]) { $0 }
    let none = ResultOperation(afterAll: [ResultOperation<Int>]()) { $0.count }
    #expect(sum.dependencies.count == 5)
    world.queue.addOperations(numbers)
    world.run(sum, none)
    #expect(try sum.result?.get() == [1, 2, 3, 4, 5, 1])
    #expect(try none.result?.get() == 0)
  }

  @Test func `a failed or skipped input in an array fails or skips the operation`() {
    let world = World()
    let good = ResultOperation { 1 }
    let bad = ResultOperation(name: "bad") { () async throws -> Int in throw Flaw(4) }
    let skipped = ResultOperation { 2 }
    skipped.addCondition(Immediate(always: .skipped(reason: "no need")))
    let failing = ResultOperation(afterAll: [good, bad, skipped, bad]) { $0.count }
    let idle = ResultOperation(afterAll: [good, skipped]) { $0.count }
    let retried = Counter()
    let retrying = ResultOperation(afterAll: [good], retry: .immediate.attempts(2)) { values in
      if retried.add() == 1 { throw Flaw(1) }
      return values
    }
    world.run(good, bad, skipped, failing, idle, retrying)
    #expect(failing.kind == .failed)
    #expect(failing.origins == [.dependency("bad")])
    #expect(idle.kind == .skipped)
    #expect((try? retrying.result?.get()) == [1])
  }
}
