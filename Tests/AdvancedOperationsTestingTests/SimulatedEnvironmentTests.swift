import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

private struct Offline: Error {}

@Suite struct `A simulated environment` {
  /// A workflow with something of everything.
  private func log(seed: UInt64) -> String {
    let simulation = SimulatedEnvironment(seed: seed)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.maxConcurrentOperationCount = 2
    let clock = simulation.environment.clock
    var operations: [AdvancedOperation] = []
    for number in 0..<6 {
      let operation = ResultOperation(
        name: "work \(number)",
        retry: .exponential(.seconds(1)).jittered().attempts(3)
      ) {
        try await clock.sleep(until: clock.now + .milliseconds(number * 100))
        if number % 2 == 0 { throw Offline() }
      }
      operation.addCondition(
        BlockCondition("holds") {
          await Task.yield(); return true
        }
      )
      if number % 3 == 0 { operation.addClaim(MutuallyExclusive("one")) }
      operation.addObserver(TimeoutObserver(.seconds(2)))
      operations.append(operation)
    }
    queue.addOperations(operations)
    simulation.run()
    #expect(operations.allSatisfy { $0.state == .finished }, "seed \(seed)")
    return simulation.log
  }

  @Test(arguments: Effort.seeds(20))
  func `a simulation writes the same log for the same seed`(seed: UInt64) {
    let first = log(seed: seed)
    #expect(!first.isEmpty)
    #expect(log(seed: seed) == first)
  }

  @Test func `a simulation uses other interleavings for other seeds`() {
    let logs = Set((1...20).map { log(seed: UInt64($0)) })
    #expect(logs.count == 20)
  }

  @Test func `a simulation writes the same log in another process`() async throws {
    // Addresses and hashes differ between processes; nothing of them may show.
    let here = log(seed: 7)
    let result = await #expect(
      processExitsWith: .success,
      observing: [\.standardOutputContent]
    ) { print("log:" + Self().log(seed: 7) + "end") }
    let text = try #require(result).standardOutputContent
    #expect(String(decoding: text, as: UTF8.self).contains("log:" + here + "end"))
  }

  @Test func `a simulation starts operations in every order`() {
    var orders: Set<[Int]> = []
    for seed in 1...200 as ClosedRange<UInt64> {
      let simulation = SimulatedEnvironment(seed: seed)
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let order = Locked<[Int]>([])
      for number in 0..<3 {
        queue.addOperation(ResultOperation { order.withLock { $0.append(number) } })
      }
      simulation.run()
      orders.insert(order.withLock { $0 })
    }
    #expect(orders.count == 6)
  }

  @Test func `a simulation advances time to the next timer and no further`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let clock = simulation.environment.clock
    let times = Locked<[Duration]>([])
    for seconds in [5, 1, 3] {
      _ = clock.schedule(at: .seconds(seconds)) { times.withLock { $0.append(clock.now) } }
    }
    let cancelled = clock.schedule(at: .seconds(86_400)) { Issue.record("it was cancelled") }
    cancelled.cancel()
    simulation.advance(by: .seconds(2))
    #expect(simulation.now == .seconds(2))
    #expect(times.withLock { $0 } == [.seconds(1)])
    simulation.run()
    #expect(times.withLock { $0 } == [.seconds(1), .seconds(3), .seconds(5)])
    #expect(simulation.now == .seconds(5))
    simulation.advance(by: .seconds(10))
    #expect(simulation.now == .seconds(15))
  }

  @Test func `a day of retry delays takes no real time in a simulation`() async {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let download = ResultOperation(
      retry: .exponential(.seconds(1), cap: .seconds(86_400)).attempts(17)
    ) { throw Offline() }
    queue.addOperation(download)
    simulation.run()
    #expect(download.attempt == 17)
    // 1 + 2 + 4 + … + 2^15 seconds
    #expect(simulation.now == .seconds(65_535))
  }

  @Test func `a cancelled sleep doesn't advance time`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let clock = simulation.environment.clock
    let sleeper = ResultOperation { try await clock.sleep(until: .seconds(1_000)) }
    queue.addOperation(sleeper)
    simulation.advance(by: .seconds(1))
    sleeper.cancel()
    simulation.run()
    #expect(sleeper.state == .finished)
    #expect(simulation.now == .seconds(1))
  }

  @Test func `a simulation does nothing until it is run`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let operation = AdvancedOperation()
    queue.addOperation(operation)
    #expect(operation.state == .ready)
    simulation.advance(by: .zero)
    #expect(operation.state == .finished)
    #expect(simulation.now == .zero)
  }

  @Test func `a run within a run of the same simulation traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let simulation = SimulatedEnvironment(seed: 1)
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      queue.addOperation(ResultOperation { simulation.run() })
      simulation.run()
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("was called from a step of the same simulation"))
  }

  // MARK: Released

  private final class Count: Sendable {
    private let kept = Locked(0)
    var value: Int { kept.withLock { $0 } }
    func add(_ number: Int) { kept.withLock { $0 += number } }
  }

  /// Counts how many of its kind there are.
  private final class Counted: AdvancedOperation, @unchecked Sendable {
    private let count: Count
    init(_ count: Count) {
      self.count = count
      super.init()
      count.add(1)
    }
    deinit { count.add(-1) }
  }

  @Test func `a simulation that was cancelled, run and released retains nothing`() {
    let count = Count()
    weak var queue: AdvancedOperationQueue?
    do {
      let simulation = SimulatedEnvironment(seed: 1)
      let made = AdvancedOperationQueue(environment: simulation.environment)
      queue = made
      let last = Counted(count)
      last.addDependency(HeldOperation(name: "never added"))
      let next = Counted(count)
      next.addDependency(last)
      made.addOperations([last, next])
      simulation.run()
      #expect(made.operationCount == 2)
      made.cancelAllOperations()
      simulation.run()
    }
    #expect(queue == nil && count.value == 0)
  }

  @Test func `a simulation may be released while its operations are used`() {
    let ended = Locked(0)
    var environment: OperationEnvironment?
    let operations = (0..<3).map { number in
      ResultOperation(name: "\(number)") {
        defer { ended.withLock { $0 += 1 } }
        try await OperationClock.current.sleep(for: .seconds(5))
      }
    }
    let queue: AdvancedOperationQueue
    do {
      let simulation = SimulatedEnvironment(seed: 1)
      environment = simulation.environment
      queue = AdvancedOperationQueue(environment: simulation.environment)
      operations[1].addObserver(TimeoutObserver(.seconds(9)))
      queue.addOperations(Array(operations[..<2]))
      simulation.advance(by: .seconds(1))
    }
    queue.addOperation(operations[2])
    operations[0].cancel()
    operations[1].cancel()
    let wasCalled = Locked(false)
    let timer = environment?.clock.schedule(at: .zero) { wasCalled.withLock { $0 = true } }
    timer?.cancel()
    #expect(environment?.clock.now == .seconds(1))
    #expect(operations.map(\.isFinished) == [false, false, false])
    #expect(ended.withLock { $0 } == 0 && !wasCalled.withLock { $0 })
    queue.cancelAllOperations()
  }
}
