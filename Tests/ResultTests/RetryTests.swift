import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `Trying again` {
  /// Fails a number of times, and notes when it was tried.
  private static func flaky(
    _ world: World,
    failures: Int,
    _ policy: RetryPolicy,
    times: Log<Duration> = Log()
  ) -> ResultOperation<Int> {
    let attempts = Counter()
    return ResultOperation(name: "flaky", retry: policy) {
      times.add(world.simulation.now)
      let attempt = attempts.add()
      if attempt <= failures { throw Flaw(attempt) }
      return attempt
    }
  }

  static let policies: [(name: String, policy: RetryPolicy, seconds: [Int])] = [
    ("immediate", .immediate.attempts(5), [0, 0, 0, 0, 0]),
    ("constant", .constant(.seconds(10)).attempts(5), [0, 10, 20, 30, 40]),
    ("linear", .linear(.seconds(10)).attempts(5), [0, 10, 30, 60, 100]),
    ("exponential", .exponential(.seconds(1)).attempts(5), [0, 1, 3, 7, 15]),
    ("capped", .exponential(.seconds(1), cap: .seconds(3)).attempts(5), [0, 1, 3, 6, 9]),
    ("cap below", .exponential(.seconds(9), cap: .seconds(3)).attempts(5), [0, 3, 6, 9, 12]),
    ("timely", .linear(.seconds(10)).totalTimeout(.seconds(101)), [0, 10, 30, 60, 100]),
    (
      "both", .constant(.seconds(10)).attempts(5).totalTimeout(.seconds(99)), [0, 10, 20, 30, 40]
    ),
    ("closure", RetryPolicy { count, _ in .seconds(count * count) }, [0, 1, 5, 14, 30]),
  ]

  @Test(arguments: policies.indices)
  func `a retry waits for the delays of its policy`(index: Int) {
    let (name, policy, seconds) = Self.policies[index]
    let world = World()
    let times = Log<Duration>()
    let work = Self.flaky(world, failures: 4, policy, times: times)
    world.run(work)
    #expect(times.entries == seconds.map { .seconds($0) }, "\(name)")
    #expect((try? work.result?.get()) == 5, "\(name)")
    #expect(work.errors.isEmpty, "\(name)")
  }

  @Test(arguments: policies.indices.dropLast())
  func `a retry gives up after the last attempt and keeps every error`(index: Int) {
    let (name, policy, seconds) = Self.policies[index]
    let world = World()
    let work = Self.flaky(world, failures: 100, policy)
    world.run(work)
    #expect(work.kind == .failed, "\(name)")
    #expect(work.flawNumbers == [1, 2, 3, 4, 5], "\(name)")
    #expect(work.origins == (1...5).map { .attempt($0, .body) }, "\(name)")
    #expect(world.simulation.now == .seconds(seconds[4]), "\(name)")
  }

  @Test(arguments: 1...20)
  func `jitter shortens each delay at random`(seed: UInt64) {
    let world = World(seed: seed)
    let times = Log<Duration>()
    let policy = RetryPolicy.exponential(.seconds(8)).jittered().attempts(4)
    world.run(Self.flaky(world, failures: 100, policy, times: times))
    let waits = zip(times.entries, times.entries.dropFirst()).map { $1 - $0 }
    #expect(waits.count == 3)
    for (wait, most) in zip(waits, [8, 16, 32]) {
      #expect(wait >= .zero && wait < .seconds(most))
    }
  }

  @Test func `jitter uses the environment's random numbers`() {
    let world = World()
    var environment = world.simulation.environment
    environment.random = { 1 << 63 }
    let queue = AdvancedOperationQueue(environment: environment)
    let policy = RetryPolicy.exponential(.seconds(8)).jittered().attempts(2)
    queue.addOperation(Self.flaky(world, failures: 1, policy))
    world.simulation.run()
    #expect(world.simulation.now == .seconds(4))
  }

  @Test func `jitter uses the environment's random numbers for every policy`() {
    let policies: [RetryPolicy] = [
      .constant(.seconds(8)).attempts(2), .linear(.seconds(8)).totalTimeout(.seconds(100)),
      .exponential(.seconds(8)).attempts(2), RetryPolicy { _, _ in .seconds(8) },
      RetryPolicy { _, _ in .seconds(8) }.when { $0 is Flaw }.totalTimeout(.seconds(100)),
    ]
    for (index, policy) in policies.enumerated() {
      let world = World()
      var environment = world.simulation.environment
      environment.random = { 1 << 62 }
      let queue = AdvancedOperationQueue(environment: environment)
      let work = Self.flaky(world, failures: 1, policy.jittered())
      queue.addOperation(work)
      world.simulation.run()
      #expect(world.simulation.now == .seconds(2), "policy \(index)")
      #expect((try? work.result?.get()) == 2, "policy \(index)")
    }
  }

  @Test func `jitter changes neither missing delays nor giving up`() {
    let world = World()
    let work = Self.flaky(world, failures: 9, .immediate.attempts(3).jittered())
    world.run(work)
    #expect(work.flawNumbers == [1, 2, 3])
    #expect(world.simulation.now == .zero)
  }

  @Test func `a total timeout allows any number of attempts`() {
    let world = World()
    let work = Self.flaky(world, failures: 99, .constant(.seconds(1)).totalTimeout(.seconds(60)))
    world.run(work)
    #expect(work.attempt == 60)
    #expect(world.simulation.now == .seconds(59))
  }

  @Test func `a day of retry delays takes no real time`() {
    let world = World()
    let policy = RetryPolicy.constant(.seconds(3_600)).attempts(25)
    let work = Self.flaky(world, failures: 24, policy)
    world.run(work)
    #expect((try? work.result?.get()) == 25)
    #expect(world.simulation.now == .seconds(86_400))
  }

  @Test func `a policy's closure receives the count and the error and may give up`() {
    let world = World()
    let seen = Log<[Int]>()
    let policy = RetryPolicy { count, error in
      seen.add([count, (error as? Flaw)?.number ?? 0])
      return count < 3 ? .seconds(1) : nil
    }
    let work = Self.flaky(world, failures: 100, policy)
    world.run(work)
    #expect(seen.entries == [[1, 1], [2, 2], [3, 3]])
    #expect(work.flawNumbers == [1, 2, 3])
  }

  @Test func `a policy of one attempt doesn't retry`() {
    let world = World()
    let work = Self.flaky(world, failures: 1, .immediate.attempts(1))
    world.run(work)
    #expect(work.flawNumbers == [1])
    #expect(work.origins == [.attempt(1, .body)])
  }

  @Test(arguments: seeds)
  func `a cancel between attempts ends the operation immediately`(seed: UInt64) {
    let world = World(seed: seed)
    let times = Log<Duration>()
    let work = Self.flaky(
      world,
      failures: 100,
      .constant(.seconds(60)).attempts(10),
      times: times
    )
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(90))
    #expect(times.entries == [.zero, .seconds(60)])
    work.cancel(withError: Flaw(9))
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(work.flawNumbers == [9, 1, 2])
    #expect(times.entries.count == 2)
    #expect(world.simulation.now == .seconds(90))
  }

  @Test func `an attempt that is cancelled is the last`() {
    let world = World()
    let gate = Latch()
    let attempts = Counter()
    let work = ResultOperation(retry: .immediate.attempts(5)) {
      attempts.add()
      await gate.opened()
      try Task.checkCancellation()
    }
    world.run(work)
    work.cancel()
    gate.open()
    world.simulation.run()
    #expect(attempts.count == 1)
    #expect(work.kind == .cancelled)
    #expect(work.errors.isEmpty)
  }

  @Test func `an operation keeps slot and claims between attempts by default`() {
    let world = World(limit: 1)
    let work = Self.flaky(world, failures: 1, .constant(.seconds(10)).attempts(2))
    work.addClaim(MutuallyExclusive("a"))
    let next = ResultOperation(name: "next") { world.simulation.now }
    let claiming = ResultOperation(name: "claiming") { world.simulation.now }
    claiming.addClaim(MutuallyExclusive("a"))
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(1))
    world.queue.addOperation(next)
    let other = world.makeQueue()
    other.addOperation(claiming)
    world.simulation.run()
    #expect((try? next.result?.get()) == .seconds(10))
    #expect((try? claiming.result?.get()) == .seconds(10))
  }

  @Test func `a timeout of the operation covers all attempts`() {
    let world = World()
    let work = Self.flaky(world, failures: 100, .constant(.seconds(10)).attempts(100))
    work.addObserver(TimeoutObserver(.seconds(25)))
    world.run(work)
    #expect(work.kind == .cancelled)
    #expect(work.errors.first is OperationTimeout)
    #expect(work.origins == [.timeout] + (1...3).map { .attempt($0, .body) })
    #expect(world.simulation.now == .seconds(25))
  }

  @Test func `successors and operations with several inputs may be retried too`() {
    let world = World()
    let attempts = Counter()
    let first = ResultOperation { 1 }
    let next = first.then(retry: .constant(.seconds(1)).attempts(3)) { number in
      if attempts.add() < 3 { throw Flaw(1) }
      return number + 1
    }
    let both = ResultOperation(after: first, next, retry: .immediate.attempts(6)) { a, b in
      if attempts.add() < 6 { throw Flaw(2) }
      return a + b
    }
    world.run(first, next, both)
    #expect((try? both.result?.get()) == 3)
  }

  @Test(arguments: seeds)
  func `an operation that is finished between two attempts makes no further attempt`(seed: UInt64) {
    let world = World(seed: seed)
    let times = Log<Duration>()
    let policy = RetryPolicy.constant(.seconds(60)).attempts(10)
    let work = Self.flaky(world, failures: 100, policy, times: times)
    work.addClaim(MutuallyExclusive("claim"))
    let waiting = Work("waiting")
    waiting.addClaim(MutuallyExclusive("claim"))
    world.queue.addOperation(work)
    world.simulation.run(until: .seconds(1))
    world.queue.addOperation(waiting)
    world.simulation.run(until: .seconds(30))
    #expect(waiting.state == .ready)
    work.finish()
    world.simulation.run()
    #expect(times.entries == [.zero])
    #expect(world.simulation.now == .seconds(30))
    #expect(waiting.kind == .succeeded)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `an operation that is finished during an attempt makes no further attempt`() {
    let world = World()
    let attempts = Counter()
    let own = Locked<ResultOperation<Void>?>(nil)
    let work = ResultOperation<Void>(retry: .constant(.seconds(60)).attempts(10)) {
      attempts.add()
      own.withLock { $0 }?.finish()
      throw Flaw(1)
    }
    own.withLock { $0 = work }
    world.run(work)
    own.withLock { $0 = nil }
    #expect(attempts.count == 1)
    #expect(world.simulation.now == .zero)
    #expect(world.queue.operationCount == 0)
  }

  private struct Kept: Error {
    let token: Token
  }

  @Test(arguments: [false, true])
  func `an operation keeps only a few errors of very many attempts`(releasesSlot: Bool) {
    let world = World()
    let alive = LiveCount()
    let most = Changing(0)
    let policy = RetryPolicy { failed, _ in failed < 1_000 ? .seconds(1) : nil }
    let work = ResultOperation<Int>(retry: releasesSlot ? policy.releasingSlot() : policy) {
      most.value = max(most.value, alive.alive)
      throw Kept(token: alive.token())
    }
    world.run(work)
    #expect(alive.made == 1_000)
    #expect(most.value == 16)
    #expect(alive.alive == 16)
    #expect(work.attempt == 1_000)
  }
}
