import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@Suite struct `A retry budget` {
  /// Adds calls at a rate, and counts the attempts of each second.
  private static func attempts(
    perSecond rate: Int,
    seconds: Int,
    _ policy: RetryPolicy,
    fails: @escaping @Sendable (Int) -> Bool
  ) -> (starts: [Int], outcomes: [OperationOutcome.Kind: Int]) {
    let world = World()
    let clock = world.simulation.environment.clock
    let starts = Locked([Int](repeating: 0, count: seconds + 10))
    let outcomes = Locked<[OperationOutcome.Kind: Int]>([:])
    for second in 0..<seconds {
      for number in 0..<rate {
        let call = ResultOperation(retry: policy) {
          let now = Int(clock.now.components.seconds)
          starts.withLock { $0[now] += 1 }
          if fails(second * rate + number) { throw Flaw(1) }
        }
        call.onFinish { _, outcome in outcomes.withLock { $0[outcome.kind, default: 0] += 1 } }
        world.queue.addOperation(call)
        world.simulation.advance(by: .seconds(1) / rate)
      }
    }
    world.simulation.run()
    return (starts.withLock { $0 }, outcomes.withLock { $0 })
  }

  @Test func `a tenth of the load is the most that retries add when every call fails`() {
    let rate = Effort.size(300, ordinarily: 100)
    let budget = RetryBudget("api", ratio: 0.1)
    let policy = RetryPolicy.immediate.attempts(3).limited(by: budget)
    let seconds = Effort.size(60, ordinarily: 20)
    let (starts, outcomes) = Self.attempts(perSecond: rate, seconds: seconds, policy) { _ in true }
    // 10 retries in 10 seconds are allowed in addition, which is 1 in each.
    #expect(starts.reduce(0, +) <= seconds * (rate + rate / 10 + 1))
    #expect(starts.reduce(0, +) >= seconds * (rate + rate / 10 - 1))
    #expect(outcomes == [.failed: seconds * rate])
    let unlimited = Self.attempts(
      perSecond: rate,
      seconds: 2,
      .immediate.attempts(3)
    ) { _ in true }
    #expect(unlimited.starts.reduce(0, +) == 2 * rate * 3)
  }

  @Test func `every retry is allowed while one call in a hundred fails`() {
    let policy = RetryPolicy.immediate.attempts(2).limited(
      by: RetryBudget(ratio: 0.1, minimum: 0)
    )
    let failed = Locked<Set<Int>>([])
    let (starts, outcomes) = Self.attempts(perSecond: 100, seconds: 10, policy) { number in
      number % 100 == 99 && failed.withLock { $0.insert(number).inserted }
    }
    #expect(outcomes == [.succeeded: 1_000])
    #expect(starts.reduce(0, +) == 1_010)
  }

  @Test func `an operation without a retry left fails at that moment with the reason`() throws {
    let world = World()
    let budget = RetryBudget("api", ratio: 0, minimum: 1)
    let policy = RetryPolicy.constant(.seconds(1)).attempts(5).limited(by: budget)
    let call = ResultOperation<Int>(name: "call", retry: policy) { throw Flaw(1) }
    world.run(call)
    #expect(world.simulation.now == .seconds(1))
    #expect(
      call.outcome?.failure?.description == """
        attempt 1: flaw 1
        attempt 2: flaw 1
        gave up after 2 attempts: the retry budget “api” is used up
        """
    )
    #expect(call.outcome?.failure?.isTimeout == false)
  }

  @Test func `a retry that is cancelled during its delay is returned to the budget`() {
    let world = World()
    let budget = RetryBudget(ratio: 0, minimum: 1, per: .seconds(1_000))
    let policy = RetryPolicy.constant(.seconds(10)).attempts(2).limited(by: budget)
    let first = ResultOperation<Int>(retry: policy) { throw Flaw(1) }
    world.queue.addOperation(first)
    world.simulation.advance(by: .seconds(5))
    first.cancel()
    world.simulation.advance(by: .zero)
    let attempts = Counter()
    let second = ResultOperation<Int>(retry: policy) {
      if attempts.add() == 1 { throw Flaw(1) }
      return 1
    }
    world.run(second)
    #expect(second.kind == .succeeded)
    let third = ResultOperation<Int>(retry: policy) { throw Flaw(1) }
    world.run(third)
    #expect(third.flawNumbers == [1])
  }

  @Test func `both of two budgets have to allow a retry, and a refusal spends none`() {
    let world = World()
    let (wide, narrow) = (
      RetryBudget("wide", ratio: 0, minimum: 2), RetryBudget("narrow", ratio: 0, minimum: 1)
    )
    let both = RetryPolicy.immediate.attempts(5).limited(by: wide).limited(by: narrow)
    let call = ResultOperation<Int>(retry: both) { throw Flaw(1) }
    world.run(call)
    #expect(call.flawNumbers == [1, 1])
    #expect(call.outcome?.failure?.description.contains("“narrow” is used up") == true)
    let other = ResultOperation<Int>(retry: .immediate.attempts(5).limited(by: wide)) {
      throw Flaw(1)
    }
    world.run(other)
    #expect(other.flawNumbers == [1, 1])
  }

  @Test func `a policy that gets the same budget twice spends one retry`() {
    let world = World()
    let budget = RetryBudget(ratio: 0, minimum: 2)
    let policy = RetryPolicy.immediate.attempts(5).limited(by: budget).limited(by: budget)
    let call = ResultOperation<Int>(retry: policy) { throw Flaw(1) }
    world.run(call)
    #expect(call.flawNumbers == [1, 1, 1])
  }

  @Test func `operations with different clocks are counted separately`() {
    let budget = RetryBudget(ratio: 0, minimum: 1)
    for seed in 1...20 as ClosedRange<UInt64> {
      let world = World(seed: seed)
      let call = ResultOperation<Int>(retry: .immediate.attempts(5).limited(by: budget)) {
        throw Flaw(1)
      }
      world.run(call)
      #expect(call.flawNumbers == [1, 1])
    }
  }

  // MARK: As a value

  private static func spends(_ window: inout RetryWindow, at time: Duration) -> Bool {
    window.spend(at: time)
  }

  @Test func `attempts are forgotten after a period`() {
    var window = RetryWindow(.init(ratio: 0.5, minimum: 0, duration: .seconds(10)))
    for _ in 0..<4 { window.firstAttempt(at: .seconds(100)) }
    #expect(Self.spends(&window, at: .seconds(100)))
    #expect(Self.spends(&window, at: .seconds(109)))
    #expect(!Self.spends(&window, at: .seconds(109)))
    #expect(!Self.spends(&window, at: .seconds(110)), "the first attempts are forgotten")
    window.firstAttempt(at: .seconds(118))
    window.firstAttempt(at: .seconds(118))
    #expect(!Self.spends(&window, at: .seconds(118)), "one was spent in this period")
    #expect(Self.spends(&window, at: .seconds(119)))
  }

  @Test func `a retry that was forgotten can't be returned to the budget`() {
    var window = RetryWindow(.init(ratio: 0, minimum: 1, duration: .seconds(10)))
    #expect(Self.spends(&window, at: .seconds(1)))
    #expect(Self.spends(&window, at: .seconds(11)))
    window.giveBack(spentAt: .seconds(1))
    #expect(!Self.spends(&window, at: .seconds(12)))
    window.giveBack(spentAt: .seconds(11))
    #expect(Self.spends(&window, at: .seconds(12)))
  }

  @Test func `times that are out of order are counted`() {
    var window = RetryWindow(.init(ratio: 1, minimum: 0, duration: .seconds(10)))
    window.firstAttempt(at: .seconds(50))
    window.firstAttempt(at: .seconds(49))
    #expect(Self.spends(&window, at: .seconds(48)) && Self.spends(&window, at: .seconds(50)))
    #expect(!Self.spends(&window, at: .seconds(50)))
  }

  @Test func `the largest numbers don't overflow`() {
    let longest = Duration.seconds(Int64.max)
    var window = RetryWindow(.init(ratio: .infinity, minimum: .max, duration: longest))
    window.firstAttempt(at: longest)
    #expect(Self.spends(&window, at: longest))
    var shortest = RetryWindow(
      .init(ratio: 1, minimum: 0, duration: Duration(attoseconds: 1))
    )
    shortest.firstAttempt(at: longest)
    #expect(Self.spends(&shortest, at: longest))
  }
}

@Suite struct `A policy that begins again after a stable attempt` {
  /// The times at which attempts begin, each of which fails after a time.
  private static func begins(_ seconds: [Int], _ policy: RetryPolicy) -> [Duration] {
    let world = World()
    let clock = world.simulation.environment.clock
    let begins = Log<Duration>()
    let work = ResultOperation<Int>(retry: policy) {
      let number = begins.entries.count
      begins.add(clock.now)
      guard seconds.indices.contains(number) else { return number }
      try await clock.sleep(for: .seconds(seconds[number]))
      throw Flaw(number)
    }
    world.run(work)
    return begins.entries
  }

  private static func delays(_ seconds: [Int], _ policy: RetryPolicy) -> [Duration] {
    let begins = begins(seconds, policy)
    return zip(seconds.indices, zip(begins, begins.dropFirst())).map { index, pair in
      pair.1 - pair.0 - .seconds(seconds[index])
    }
  }

  @Test func `each delay is the first after attempts that ran long enough`() {
    let policy = RetryPolicy.exponential(.seconds(1)).resettingAfter(.seconds(60))
    #expect(
      Self.delays([61, 61, 60, 61], policy) == [Duration](repeating: .seconds(1), count: 4)
    )
    #expect(
      Self.delays([59, 59, 59, 59], policy) == [1, 2, 4, 8].map { Duration.seconds($0) }
    )
    #expect(
      Self.delays([1, 1, 60, 1, 1], policy) == [1, 2, 1, 2, 4].map { Duration.seconds($0) }
    )
  }

  @Test func `a stable attempt resets the number of attempts, but not the total time`() {
    let policy = RetryPolicy.constant(.seconds(1)).attempts(2).resettingAfter(.seconds(60))
    #expect(Self.begins([60, 60, 60, 1, 1, 1], policy).count == 4)
    let timed = policy.totalTimeout(.seconds(100))
    #expect(Self.begins([60, 60, 60, 60], timed).count == 2)
  }

  @Test func `an attempt that a time limit has cancelled doesn't count as stable`() {
    let policy = RetryPolicy.exponential(.seconds(1)).attempts(3)
      .attemptTimeout(.seconds(60)).resettingAfter(.seconds(60))
    #expect(Self.begins([1_000, 1_000, 1_000, 1_000, 1_000], policy).count == 3)
  }

  @Test func `the delay isn't a part of the attempt`() {
    let policy = RetryPolicy.exponential(.seconds(100)).attempts(4).resettingAfter(.seconds(60))
    #expect(Self.delays([1, 1, 1], policy) == [100, 200, 400].map { Duration.seconds($0) })
  }

  @Test func `the shortest of several durations applies`() {
    let policy = RetryPolicy.exponential(.seconds(1))
      .resettingAfter(.seconds(60)).resettingAfter(.seconds(10)).resettingAfter(.seconds(30))
    #expect(Self.delays([10, 9, 9], policy) == [1, 2, 4].map { Duration.seconds($0) })
  }
}
