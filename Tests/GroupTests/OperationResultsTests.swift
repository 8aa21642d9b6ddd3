import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

/// Numbers from 0 on, which records how many were taken.
private struct Numbers: AsyncSequence, Sendable {
  let count: Int
  let taken = Counter()
  /// The number of the element instead of which an error is thrown.
  var failing: Int?

  func makeAsyncIterator() -> Iterator { Iterator(numbers: self) }

  struct Iterator: AsyncIteratorProtocol {
    let numbers: Numbers
    var next = 0

    mutating func next() async throws -> Int? {
      if next == numbers.failing { throw Flaw(next) }
      guard next < numbers.count else { return nil }
      numbers.taken.add()
      defer { next += 1 }
      return next
    }
  }
}

extension OperationClock {
  /// Waits even if the task is cancelled.
  fileprivate func passing(_ duration: Duration) async {
    await withCheckedContinuation { continuation in
      _ = schedule(at: now + duration) { continuation.resume() }
    }
  }
}

@Suite struct `Results of operations for a sequence` {
  /// Runs an operation for each number, which takes the given times, and returns the values in the order in
  /// which they are taken.
  private static func values(
    _ world: World,
    _ seconds: [Int],
    limit: Int,
    ordered: Bool = true,
    _ body: @escaping @Sendable (Int) throws -> Int = { $0 }
  ) throws -> [Int] {
    let results = Numbers(count: seconds.count).mapOperations(
      maxConcurrentOperationCount: limit,
      ordered: ordered
    ) { number in
      ResultOperation(name: "\(number)") {
        try await OperationClock.current.sleep(for: .seconds(seconds[number]))
        return try body(number)
      }
    }
    return try world.simulation.run {
      var values: [Int] = []
      for try await value in results { values.append(value) }
      return values
    }
  }

  // MARK: Values

  @Test(arguments: seeds)
  func `values are in the order of the elements`(seed: UInt64) throws {
    let world = World(seed: seed)
    #expect(try Self.values(world, [9, 1, 4, 2, 7, 3], limit: 3) == Array(0..<6))
    // 0 until 9 s; 1 until 1 s; 2 from 1 to 5 s; then the window is full until 9 s.
    #expect(world.simulation.now == .seconds(16))
  }

  @Test(arguments: seeds)
  func `values are in the order in which the operations end`(seed: UInt64) throws {
    let world = World(seed: seed)
    let values = try Self.values(world, [9, 1, 4, 2, 8, 3], limit: 3, ordered: false)
    // Ends: 1 at 1 s, 2 at 4 s, 3 from 1 to 3 s, 4 from 3 to 11 s, 5 from 4 to 7 s, 0 at 9 s.
    #expect(values == [1, 3, 2, 5, 0, 4])
    #expect(world.simulation.now == .seconds(11))
  }

  @Test func `a limit of one runs the operations one after the other`() throws {
    let world = World()
    #expect(try Self.values(world, [1, 2, 3], limit: 1) == [0, 1, 2])
    #expect(world.simulation.now == .seconds(6))
  }

  @Test func `an empty sequence has no values`() throws {
    #expect(try Self.values(World(), [], limit: 4) == [])
  }

  @Test(arguments: [true, false])
  func `a skipped operation is left out`(ordered: Bool) throws {
    let values = try Self.values(World(), [3, 2, 1, 0], limit: 2, ordered: ordered) { number in
      if number % 2 == 0 { throw OperationSkipped(reason: "even") }
      return number
    }
    #expect(values.sorted() == [1, 3])
  }

  @Test(arguments: [1, 3])
  func `predecessors of the operations run with them`(limit: Int) throws {
    let world = World()
    let results = Numbers(count: 5).mapOperations(maxConcurrentOperationCount: limit) { number in
      ResultOperation<Int>(name: "\(number)") {
        if number % 2 == 0 { throw Flaw(number) }
        return number
      }
      .recover { _ in -1 }.then { $0 * 10 }
    }
    let values = try world.simulation.run { try await results.reduce(into: []) { $0.append($1) } }
    #expect(values == [-10, 10, -10, 30, -10])
  }

  @Test func `a sequence may be iterated several times`() throws {
    let world = World()
    let numbers = Numbers(count: 3)
    let results = numbers.mapOperations(maxConcurrentOperationCount: 2) { number in
      ResultOperation { number }
    }
    for _ in 0..<2 {
      let sum = try world.simulation.run { try await results.reduce(0, +) }
      #expect(sum == 3)
    }
    #expect(numbers.taken.count == 6)
  }

  // MARK: The window

  @Test(arguments: [true, false])
  func `a slow consumer limits the elements that are taken ahead`(ordered: Bool) throws {
    let world = World()
    let numbers = Numbers(count: .max)
    let results = numbers.mapOperations(maxConcurrentOperationCount: 4, ordered: ordered) {
      number in ResultOperation { number }
    }
    let clock = world.simulation.environment.clock
    let excess = try world.simulation.run {
      var (count, excess) = (0, 0)
      for try await _ in results {
        count += 1
        try await clock.sleep(for: .seconds(1))
        excess = Swift.max(excess, numbers.taken.count - count)
        if count == Effort.size(5_000, ordinarily: 500) { break }
      }
      return excess
    }
    #expect(excess == 4)
  }

  @Test func `a slow first operation delays the operations beyond the limit`() throws {
    let world = World()
    let numbers = Numbers(count: 100)
    let results = numbers.mapOperations(
      maxConcurrentOperationCount: 4,
      environment: world.simulation.environment
    ) { number in
      ResultOperation {
        if number == 0 { try await OperationClock.current.sleep(for: .seconds(60)) }
        return number
      }
    }
    let call = Call(world) {
      var count = 0
      for try await _ in results { count += 1 }
      return count
    }
    world.simulation.advance(by: .seconds(30))
    #expect(numbers.taken.count == 4)
    world.simulation.run()
    #expect(try call.result.value?.get() == 100)
  }

  @Test func `operations are released when their values have been taken`() throws {
    let world = World()
    let live = LiveCount()
    let results = Numbers(count: 200).mapOperations(maxConcurrentOperationCount: 3) { number in
      let token = live.token()
      return ResultOperation { withExtendedLifetime(token) { number } }
    }
    let most = try world.simulation.run {
      var most = 0
      for try await _ in results { most = Swift.max(most, live.alive) }
      return most
    }
    #expect(most <= 6)
    #expect(live.alive == 0 && live.made == 200)
  }

  // MARK: Errors

  @Test(arguments: seeds)
  func `the first failure cancels the others and is thrown after their ends`(seed: UInt64) throws {
    let world = World(seed: seed)
    let reasons = Log<Int>()
    let ends = Log<Duration>()
    let numbers = Numbers(count: 100)
    let results = numbers.mapOperations(maxConcurrentOperationCount: 3) { number in
      let work = ResultOperation(name: "work \(number)") {
        let clock = OperationClock.current
        if number == 0 { return 0 }
        do { try await clock.sleep(for: .seconds(number == 2 ? 5 : 60)) } catch {
          await clock.passing(.seconds(3))
          ends.add(clock.now)
          throw error
        }
        throw Flaw(number)
      }
      work.onCancel { _, errors in
        let failure = errors.first as? OperationFailure
        reasons.add((failure?.errors.first as? Flaw)?.number ?? 0)
      }
      return work
    }
    let values = Log<Int>()
    #expect {
      try world.simulation.run {
        for try await value in results { values.add(value) }
      }
    } throws: { error in
      (error as? OperationFailure)?.errors.first as? Flaw == Flaw(2)
    }
    #expect(values.entries == [0])
    #expect(reasons.entries == [2, 2])
    #expect(numbers.taken.count == 4)
    #expect(ends.entries == [.seconds(8), .seconds(8)])
    #expect(world.simulation.now == .seconds(8))
  }

  @Test(arguments: seeds)
  func `an error of the sequence cancels the operations and is thrown`(seed: UInt64) throws {
    let world = World(seed: seed)
    var numbers = Numbers(count: 100)
    numbers.failing = 2
    let results = numbers.mapOperations(maxConcurrentOperationCount: 4) { number in
      ResultOperation {
        try await OperationClock.current.sleep(for: .seconds(60))
        return number
      }
    }
    #expect(throws: Flaw(2)) {
      try world.simulation.run { for try await _ in results {} }
    }
    #expect(world.simulation.now == .zero)
  }

  @Test func `an iteration ends after its error`() throws {
    let world = World()
    let results = Numbers(count: 1).mapOperations(maxConcurrentOperationCount: 1) { _ in
      ResultOperation<Int> { throw Flaw(1) }
    }
    let last = try world.simulation.run {
      var iterator = results.makeAsyncIterator()
      do { return try await iterator.next() } catch { return try await iterator.next() ?? -1 }
    }
    #expect(last == -1)
  }

  // MARK: The consumer

  @Test(arguments: seeds)
  func `a cancelled consumer gets a CancellationError after all bodies have ended`(seed: UInt64) {
    let world = World(seed: seed)
    let ends = Counter()
    let results = Numbers(count: .max).mapOperations(
      maxConcurrentOperationCount: 4,
      environment: world.simulation.environment
    ) { number in
      ResultOperation {
        let clock = OperationClock.current
        defer { ends.add() }
        do { try await clock.sleep(for: .seconds(60)) } catch {
          await clock.passing(.seconds(3))
          throw error
        }
        return number
      }
    }
    let call = Call(world) { try await results.reduce(0, +) }
    world.simulation.advance(by: .seconds(10))
    call.task.cancel()
    world.simulation.run()
    #expect(call.wasCancelled)
    #expect(ends.count == 4)
    #expect(call.end.value == .seconds(13))
  }

  @Test func `a consumer that stops cancels the operations`() throws {
    let world = World()
    let works = Log<ResultOperation<Int>>()
    let results = Numbers(count: .max).mapOperations(maxConcurrentOperationCount: 3) { number in
      let work = ResultOperation(name: "\(number)") {
        if number > 0 { try await OperationClock.current.sleep(for: .seconds(60)) }
        return number
      }
      works.add(work)
      return work
    }
    try world.simulation.run { for try await _ in results { break } }
    world.simulation.run()
    #expect(works.entries.dropFirst().allSatisfy { $0.kind == .cancelled })
    #expect(world.simulation.now == .zero)
  }

  @Test func `an operation that needs a claim of the iterating operation ends the iteration`()
    throws
  {
    let world = World()
    let results = Numbers(count: 3).mapOperations(maxConcurrentOperationCount: 3) { number in
      let work = ResultOperation(name: "inner \(number)") { number }
      work.addClaim(MutuallyExclusive("database"))
      return work
    }
    let outer = ResultOperation(name: "outer") { try await results.reduce(0, +) }
    outer.addClaim(MutuallyExclusive("database"))
    world.run(outer)
    #expect(outer.kind == .failed)
  }

  @Test func `an iteration ends once in every order`() throws {
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(2_000),
      randomSchedules: Effort.drawn(200)
    ) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let results = Numbers(count: 3).mapOperations(maxConcurrentOperationCount: 2) { number in
        ResultOperation(name: "\(number)") { number }
      }
      let iterating = ResultOperation(name: "iterating") { try await results.reduce(0, +) }
      queue.addOperation(iterating)
      simulation.addStep("cancel", atAnyTime: true) { iterating.cancel() }
      simulation.run()
      try #require(iterating.isFinished)
      if !iterating.isCancelled { try #require(try iterating.result?.get() == 3) }
    }
    #expect(report.scheduleCount > 30)
  }

  @Test(arguments: Effort.seeds(8))
  func `values arrive on threads`(seed: UInt64) async throws {
    let count = Effort.size(5_000, ordinarily: 500)
    let ordered = seed % 2 == 0
    let results = Numbers(count: count).mapOperations(
      maxConcurrentOperationCount: Int(seed % 7) + 1,
      ordered: ordered
    ) { number in ResultOperation { number } }
    var values: [Int] = []
    for try await value in results { values.append(value) }
    #expect((ordered ? values : values.sorted()) == Array(0..<count))
  }
}
