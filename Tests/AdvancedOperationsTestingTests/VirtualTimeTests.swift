import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `Virtual time` {
  /// An operation that sleeps, and says when it woke.
  private static func sleeper(_ duration: Duration) -> ResultOperation<Duration> {
    ResultOperation {
      guard let clock = AdvancedOperation.current?.environment.clock else { return .zero }
      try await clock.sleep(until: clock.now + duration)
      return clock.now
    }
  }

  private static func value(_ operation: ResultOperation<Duration>) -> Duration? {
    try? operation.result?.get()
  }

  @Test func `virtual time begins at zero and doesn't advance by itself`() {
    let simulation = SimulatedEnvironment(seed: 1)
    #expect(simulation.now == .zero)
    #expect(simulation.environment.clock.now == .zero)
    simulation.run()
    #expect(simulation.now == .zero)
  }

  @Test(arguments: UInt64(1)...20)
  func `virtual time advances from one wake to the next`(seed: UInt64) {
    let simulation = SimulatedEnvironment(seed: seed)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let durations: [Duration] = [.seconds(86_400), .milliseconds(1), .seconds(5), .seconds(5)]
    let operations = durations.map(Self.sleeper)
    queue.addOperations(operations)
    simulation.run()
    #expect(operations.map(Self.value) == durations)
    #expect(simulation.now == .seconds(86_400))
  }

  @Test func `advancing virtual time by an amount runs everything due until then`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let (early, late) = (Self.sleeper(.seconds(5)), Self.sleeper(.seconds(15)))
    queue.addOperations([early, late])
    simulation.advance(by: .seconds(4))
    #expect(simulation.now == .seconds(4))
    #expect(!early.isFinished)
    simulation.advance(by: .seconds(1))
    #expect(Self.value(early) == .seconds(5))
    simulation.advance(by: .seconds(5))
    #expect(simulation.now == .seconds(10))
    #expect(!late.isFinished)
    simulation.run()
    #expect(Self.value(late) == .seconds(15))
  }

  @Test func `advancing by zero takes the steps that are due`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let (now, later) = (Self.sleeper(.zero), Self.sleeper(.nanoseconds(1)))
    queue.addOperations([now, later])
    simulation.advance(by: .zero)
    #expect(Self.value(now) == .zero)
    #expect(!later.isFinished)
    simulation.run()
    #expect(Self.value(later) == .nanoseconds(1))
  }

  @Test func `a wake in the past happens now`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    simulation.advance(by: .seconds(10))
    let operation = Self.sleeper(.seconds(-5))
    queue.addOperation(operation)
    simulation.run()
    #expect(Self.value(operation) == .seconds(10))
    #expect(simulation.now == .seconds(10))
  }

  @Test func `a cancelled sleep delays no one`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let operation = Self.sleeper(.seconds(1_000))
    queue.addOperation(operation)
    simulation.advance(by: .seconds(1))
    operation.cancel()
    simulation.run()
    #expect(operation.isFinished)
    #expect(simulation.now == .seconds(1))
  }

  @Test func `a timer calls its closure once on time unless cancelled`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let clock = simulation.environment.clock
    let calls = Locked<[Duration]>([])
    let timer = clock.schedule(at: .seconds(3)) { calls.withLock { $0.append(clock.now) } }
    let cancelled = clock.schedule(at: .seconds(2)) { calls.withLock { $0.append(.zero) } }
    cancelled.cancel()
    simulation.run()
    timer.cancel()
    simulation.run()
    #expect(calls.withLock { $0 } == [.seconds(3)])
    #expect(simulation.now == .seconds(3))
  }

  @Test func `random numbers of a simulation depend on its seed`() {
    func draws(_ seed: UInt64) -> [UInt64] {
      let random = SimulatedEnvironment(seed: seed).environment.random
      return (0..<4).map { _ in random() }
    }
    #expect(draws(1) == draws(1))
    #expect(draws(1) != draws(2))
    #expect(Set(draws(1)).count == 4)
  }
}
