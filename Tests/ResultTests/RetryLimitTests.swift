import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `Time limits of a retry policy` {
  /// A body that takes a time, unless its task is cancelled.
  private static func slow(
    _ world: World,
    _ seconds: [Int],
    _ policy: RetryPolicy
  ) -> ResultOperation<Int> {
    let attempts = Counter()
    let clock = world.simulation.environment.clock
    return ResultOperation(name: "slow", retry: policy) {
      let attempt = attempts.add()
      let duration = seconds[min(attempt, seconds.count) - 1]
      try await clock.sleep(until: clock.now + .seconds(duration))
      return attempt
    }
  }

  @Test(arguments: seeds)
  func `an attempt that exceeds its timeout has failed`(seed: UInt64) {
    let world = World(seed: seed)
    let policy = RetryPolicy.constant(.seconds(1)).attempts(3).attemptTimeout(.seconds(5))
    let work = Self.slow(world, [60, 60, 4], policy)
    world.run(work)
    #expect((try? work.result?.get()) == 3)
    #expect(work.errors.isEmpty)
    // 5 + 1 + 5 + 1 + 4
    #expect(world.simulation.now == .seconds(16))
  }

  @Test func `a timeout is the only error of an attempt that exceeds it`() {
    let world = World()
    let policy = RetryPolicy.immediate.attempts(2).attemptTimeout(.seconds(5))
    let work = Self.slow(world, [60], policy)
    world.run(work)
    #expect(work.kind == .failed)
    #expect(!work.isCancelled, "its task was, for one attempt")
    #expect(work.origins == [.attempt(1, .timeout), .attempt(2, .timeout)])
    #expect(work.errors.allSatisfy { $0 as? OperationTimeout == .init(duration: .seconds(5)) })
  }

  @Test func `a body's error is kept together with the attempt's timeout`() {
    let world = World()
    let clock = world.simulation.environment.clock
    let work = ResultOperation(retry: .immediate.attempts(1).attemptTimeout(.seconds(5))) {
      do { try await clock.sleep(until: .seconds(60)) } catch { throw Flaw(1) }
    }
    world.run(work)
    #expect(work.origins == [.attempt(1, .timeout), .attempt(1, .body)])
    #expect(work.errors.last as? Flaw == Flaw(1))
  }

  @Test func `a value that an attempt returns after its timeout is used`() {
    let world = World()
    let clock = world.simulation.environment.clock
    let work = ResultOperation(retry: .immediate.attempts(3).attemptTimeout(.seconds(5))) {
      try? await clock.sleep(until: .seconds(60))
      return Task.isCancelled
    }
    world.run(work)
    #expect((try? work.result?.get()) == true)
    #expect(world.simulation.now == .seconds(5))
  }

  @Test func `the policy decides about a timeout like any other error`() {
    let world = World()
    let policy = RetryPolicy.immediate.attempts(9).attemptTimeout(.seconds(5))
      .when { !($0 is OperationTimeout) }
    let work = Self.slow(world, [60], policy)
    world.run(work)
    #expect(work.origins == [.attempt(1, .timeout)])
  }

  @Test(arguments: seeds)
  func `a cancelled operation cancels an attempt with a timeout`(seed: UInt64) {
    let world = World(seed: seed)
    let work = Self.slow(world, [60], .immediate.attempts(3).attemptTimeout(.seconds(50)))
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(10))
    work.cancel(withError: Flaw(1))
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(work.flawNumbers == [1])
    #expect(world.simulation.now == .seconds(10))
  }

  @Test(arguments: seeds)
  func `the total timeout ends the current attempt and the operation`(seed: UInt64) {
    let world = World(seed: seed)
    let work = Self.slow(world, [10, 60], .immediate.attempts(9).totalTimeout(.seconds(25)))
    world.run(work)
    #expect((try? work.result?.get()) == 1, "one that is fast enough isn't touched")
    let other = Self.slow(world, [60], .immediate.attempts(9).totalTimeout(.seconds(25)))
    world.run(other)
    #expect(other.origins == [.attempt(1, .timeout)])
    #expect(other.errors.first as? OperationTimeout == .init(duration: .seconds(25)))
    #expect(world.simulation.now == .seconds(35))
  }

  @Test func `no attempt begins at the deadline or after it`() {
    let world = World()
    let attempts = Counter()
    let policy = RetryPolicy.constant(.seconds(10)).attempts(9).totalTimeout(.seconds(30))
    let work = ResultOperation(retry: policy) {
      attempts.add()
      throw Flaw(1)
    }
    world.run(work)
    #expect(attempts.count == 3)
    #expect(world.simulation.now == .seconds(20), "it isn't waited for either")
    #expect(work.flawNumbers == [1, 1, 1])
  }

  @Test func `the shorter of two timeouts applies`() {
    let world = World()
    let policy = RetryPolicy.immediate.attempts(1)
      .attemptTimeout(.seconds(9)).attemptTimeout(.seconds(3)).attemptTimeout(.seconds(5))
      .totalTimeout(.seconds(7)).totalTimeout(.seconds(8))
    let work = Self.slow(world, [60], policy)
    world.run(work)
    #expect(world.simulation.now == .seconds(3))
  }

  @Test func `an attempt sees its operation and the task-locals`() {
    let world = World()
    let work = ResultOperation(retry: .immediate.attempts(1).attemptTimeout(.seconds(9))) {
      AdvancedOperation.current?.name
    }
    work.name = "named"
    world.run(work)
    #expect((try? work.result?.get()) == "named")
  }

  // MARK: As values

  private static func next(
    _ run: inout RetryRun,
    after seconds: Int,
    _ failures: [OperationFailure.Element] = [.init(origin: .body, error: Flaw(1))]
  ) -> RetryRun.Next {
    run.record(failures)
    return run.next(after: failures, now: .seconds(seconds), random: { 0 })
  }

  @Test func `a run of a policy is a value`() {
    var run = RetryRun(.constant(.seconds(10)).attempts(3), now: .seconds(100))
    #expect(run.number == 1)
    #expect(run.limit(now: .seconds(100)) == nil)
    #expect(Self.next(&run, after: 103) == .attempt(at: .seconds(113)))
    #expect(run.number == 2)
    #expect(Self.next(&run, after: 120) == .attempt(at: .seconds(130)))
    #expect(Self.next(&run, after: 131) == .giveUp)
    #expect(run.elements.map(\.origin) == (1...3).map { .attempt($0, .body) })
  }

  @Test func `a negative delay means no delay`() {
    var run = RetryRun(RetryPolicy { _, _ in .seconds(-5) }, now: .zero)
    #expect(Self.next(&run, after: 3) == .attempt(at: .seconds(3)))
  }

  @Test func `an attempt's limit is its own timeout or the remaining total`() {
    let policy = RetryPolicy.immediate.attempts(9)
      .attemptTimeout(.seconds(10)).totalTimeout(.seconds(25))
    let run = RetryRun(policy, now: .seconds(100))
    let own = OperationTimeout(duration: .seconds(10))
    let total = OperationTimeout(duration: .seconds(25))
    #expect(run.limit(now: .seconds(100)) == .init(time: .seconds(110), timeout: own))
    #expect(run.limit(now: .seconds(115)) == .init(time: .seconds(125), timeout: own))
    #expect(run.limit(now: .seconds(116)) == .init(time: .seconds(125), timeout: total))
  }
}

/// A clock whose short sleeps end two seconds late, as after a sleep of the machine; long ones never
/// end.
private final class LateClock: Clock, Sendable {
  private let origin = ContinuousClock.now
  private let time = Locked(Duration.zero)

  var now: ContinuousClock.Instant { origin.advanced(by: elapsed) }
  var elapsed: Duration { time.withLock { $0 } }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    let wait = deadline - now
    guard wait < .seconds(1) else { return try await Task.sleep(for: .seconds(86_400)) }
    time.withLock { $0 += wait + .seconds(2) }
  }
}

@Suite(.watched) struct `A delay between attempts that ends late` {
  private static let policy = RetryPolicy.constant(.milliseconds(200)).totalTimeout(.seconds(1))

  private static func run(_ work: AdvancedOperation, by clock: LateClock) async throws {
    let environment = OperationEnvironment(clock: OperationClock(clock))
    AdvancedOperationQueue(environment: environment).addOperation(work)
    try await work.untilFinished()
  }

  @Test(arguments: [policy, policy.releasingSlot()])
  func `no attempt begins after the total timeout even if the delay ends late`(
    policy: RetryPolicy
  ) async throws {
    let clock = LateClock()
    let begins = Log<Duration>()
    let work = ResultOperation<Int>(retry: policy) {
      begins.add(clock.elapsed)
      throw Flaw(1)
    }
    try await Self.run(work, by: clock)
    #expect(begins.entries == [.zero])
    #expect(work.origins == [.attempt(1, .body), .timeout])
  }

  @Test(arguments: [policy, policy.releasingSlot()])
  func `a RetryOperation begins no attempt after the total timeout`(
    policy: RetryPolicy
  ) async throws {
    let clock = LateClock()
    let begins = Log<Duration>()
    let work = RetryOperation<Int>(retry: policy) { _ in
      ResultOperation<Int> {
        begins.add(clock.elapsed)
        throw Flaw(1)
      }
    }
    try await Self.run(work, by: clock)
    #expect(begins.entries == [.zero])
    #expect(work.errors.last is OperationTimeout)
  }
}
