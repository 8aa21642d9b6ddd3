import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// What has to wait for a time, and doesn't have to any more, is gone before that time.
@Suite struct `A timer that is cancelled` {
  @Test func `a cancelled timer leaves the table and releases its closure`() {
    let timers = SystemTimers(of: ContinuousClock())
    let clock = OperationClock(source: timers)
    let live = LiveCount()
    let set = (1...1_000).map { number in
      let token = live.token()
      return clock.schedule(at: clock.now + .seconds(3_600 + number % 7)) { token.touch() }
    }
    #expect(timers.count == 1_000)
    #expect(live.alive == 1_000)
    for (number, timer) in set.enumerated() where number % 3 > 0 { timer.cancel() }
    #expect(timers.count == 334)
    #expect(live.alive == 334)
    for timer in set { timer.cancel() }
    #expect(timers.count == 0)
    #expect(live.alive == 0)
  }

  @Test func `a cancelled timer leaves other timers that fire in the order of their times`() async {
    let clock = OperationClock(source: SystemTimers(of: ContinuousClock()))
    let late = (0..<100).map { _ in clock.schedule(at: clock.now + .seconds(3_600)) {} }
    let now = clock.now
    let called = Locked<[Int]>([])
    // Each is set by the one before it, among others that are cancelled long before their time.
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      @Sendable func next(_ number: Int) {
        called.withLock { $0.append(number) }
        if number == 20 { return continuation.resume() }
        let gone = clock.schedule(at: now + .seconds(1_800)) { called.withLock { $0.append(-1) } }
        gone.cancel()
        _ = clock.schedule(at: now + .milliseconds(number)) { next(number + 1) }
      }
      next(0)
    }
    #expect(called.withLock { $0 } == Array(0...20))
    #expect(clock.now >= now + .milliseconds(19))
    for timer in late { timer.cancel() }
  }

  /// What the runtime keeps of a sleep until its time came, once: 300 bytes for each.
  @Test func `timers of both system clocks wait in their clock's table`() {
    for (clock, timers) in [
      (OperationClock(ContinuousClock()), SystemTimers.continuous),
      (OperationClock(SuspendingClock()), SystemTimers.suspending),
    ] {
      #expect(clock.identity === timers.identity)
      #expect(clock.identity.isLasting)
    }
    #expect(SystemTimers.continuous.identity !== SystemTimers.suspending.identity)
  }

  @Test(.watched, arguments: [[AlarmClock.uptime], [.wall], [.uptime, .wall]])
  func `timers may set any alarm that wakes others`(alarms: [AlarmClock]) async throws {
    let timers = SystemTimers(of: ContinuousClock(), wokenBy: alarms)
    let clock = OperationClock(source: timers)
    // In a minute, or a busy machine may come to it before the cancel.
    let cancelled = clock.schedule(at: clock.now + .seconds(60)) { Issue.record("called") }
    cancelled.cancel()
    for number in 1...3 {
      let deadline = clock.now + .milliseconds(number)
      try await clock.sleep(until: deadline)
      #expect(clock.now >= deadline)
    }
    #expect(timers.count == 0)
  }

  /// While the machine sleeps, the uptime stands still, and the time of `ContinuousClock` doesn't.
  @Test func `continuous timers wake by the wall clock too`() {
    #expect(SystemTimers.continuous.alarmClocks == [.uptime, .wall])
    #expect(SystemTimers.suspending.alarmClocks == [.uptime])
  }

  @Test func `a cancelled sleep of a task leaves no timer`() async {
    let timers = SystemTimers(of: SuspendingClock())
    let clock = OperationClock(source: timers)
    let task = Task { try await clock.sleep(until: clock.now + .seconds(3_600)) }
    while timers.count == 0 { await Task.yield() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(timers.count == 0)
  }

  /// Everything of the framework that sets a timer, ended long before its time.
  private static func operations() -> [AdvancedOperation] {
    let hour = Duration.seconds(3_600)
    struct Flaw: Error {}
    let observed = TimeoutObserver.Phase.allCases.map { phase in
      let work = ResultOperation {}
      work.addObserver(TimeoutObserver(hour, of: phase))
      return work
    }
    let limited = RetryPolicy.immediate.attempts(3).attemptTimeout(hour).totalTimeout(hour)
    let waiting = RetryPolicy.constant(hour).attempts(3)
    return observed + [
      ResultOperation(retry: limited) { throw Flaw() },
      RetryOperation(retry: limited) { _ in ResultOperation { throw Flaw() } },
      ResultOperation(retry: waiting) { throw Flaw() },
      RetryOperation(retry: waiting) { _ in ResultOperation { throw Flaw() } },
      RepeatOperation(times: 2, every: hour) { _ in ResultOperation {} },
      DelayOperation(hour),
      RateLimited(RateLimit("once an hour", 1, per: hour)),
      RateLimited(RateLimit("once an hour", 1, per: hour)),
    ]
  }

  private final class RateLimited: AdvancedOperation, @unchecked Sendable {
    init(_ limit: RateLimit) {
      super.init()
      addClaim(limit)
    }
  }

  @Test func `cancelled operations leave no timer in real time`() async throws {
    let timers = SystemTimers(of: ContinuousClock())
    let environment = OperationEnvironment(
      clock: OperationClock(source: timers),
      claimDomain: ClaimDomain()
    )
    let queue = AdvancedOperationQueue(environment: environment)
    for _ in 0..<20 { queue.addOperations(Self.operations()) }
    // All of them have begun, or wait for the rate.
    while queue.operations.contains(where: { !$0.isExecuting && !($0 is RateLimited) }) {
      await Task.yield()
    }
    queue.cancelAllOperations()
    try await queue.untilAllOperationsAreFinished()
    #expect(timers.count == 0)
  }

  @Test func `cancelled operations leave no timer in virtual time`() {
    let world = World()
    for _ in 0..<20 { world.queue.addOperations(Self.operations()) }
    world.simulation.advance(by: .seconds(1))
    world.queue.cancelAllOperations()
    world.simulation.advance(by: .zero)
    #expect(world.queue.operationCount == 0)
    #expect(world.simulation.timerCount == 0)
  }
}
