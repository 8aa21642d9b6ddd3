import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `A rate limit` {
  /// Operations that write down when they start.
  private static func works(
    _ count: Int,
    in world: World,
    _ starts: Log<Duration>,
    claim: (Int) -> any OperationClaim
  ) -> [Work] {
    let simulation = world.simulation
    return (0..<count).map { number in
      let work = Work("w\(number)") { work in
        starts.add(simulation.now)
        work.finish()
      }
      work.addClaim(claim(number))
      return work
    }
  }

  @Test(arguments: seeds)
  func `a rate limit starts its whole count immediately and then at even intervals`(seed: UInt64) {
    let world = World(seed: seed)
    let starts = Log<Duration>()
    let limit = RateLimit("calls", 3, per: .seconds(3))
    world.queue.addOperations(Self.works(7, in: world, starts) { _ in limit })
    world.simulation.run()
    #expect(starts.entries == [0, 0, 0, 1, 2, 3, 4].map { .seconds($0) })
  }

  @Test func `a rate limit returns tokens exactly even if the duration isn't divisible`() {
    let world = World()
    let starts = Log<Duration>()
    let limit = RateLimit("calls", 3, per: .seconds(1))
    world.queue.addOperations(Self.works(300, in: world, starts) { _ in limit })
    world.simulation.run()
    #expect(
      starts.entries
        == (-2..<298).map { (third: Int) -> Duration in max(.seconds(1) * third / 3, .zero) }
    )
  }

  @Test func `a rate limit is full after a pause and never fuller`() {
    let world = World()
    let starts = Log<Duration>()
    let limit = RateLimit("calls", 2, per: .seconds(2))
    let works = Self.works(6, in: world, starts) { _ in limit }
    world.queue.addOperations(Array(works[..<2]))
    world.simulation.advance(by: .seconds(100))
    world.queue.addOperations(Array(works[2...]))
    world.simulation.run()
    #expect(starts.entries == [0, 0, 100, 100, 101, 102].map { .seconds($0) })
  }

  @Test func `a rate limit refills continuously`() {
    let world = World()
    let starts = Log<Duration>()
    let limit = RateLimit("calls", 2, per: .seconds(2))
    let works = Self.works(3, in: world, starts) { _ in limit }
    world.queue.addOperations(Array(works[..<2]))
    world.simulation.advance(by: .milliseconds(400))
    world.queue.addOperation(works[2])
    world.simulation.run()
    #expect(starts.entries == [.zero, .zero, .seconds(1)])
  }

  /// The definition of a token bucket, start by start: in no time from an earlier start on are
  /// there more than the count and what came back meanwhile.
  @Test(arguments: seeds)
  func `a rate limit starts each operation as early as a token bucket allows`(seed: UInt64) {
    var random = Random(seed)
    let count = Int.random(in: 1...5, using: &random)
    let interval = Int.random(in: 1...20, using: &random)
    let world = World(seed: seed)
    let starts = Log<Duration>()
    let limit = RateLimit("calls", count, per: .milliseconds(count * interval))
    let works = Self.works(30, in: world, starts) { _ in limit }
    var expected: [Int] = []
    var now = 0
    for (number, work) in works.enumerated() {
      let pause = Bool.random(using: &random) ? 0 : Int.random(in: 0...40, using: &random)
      world.simulation.advance(by: .milliseconds(pause))
      now += pause
      world.queue.addOperation(work)
      world.simulation.advance(by: .zero)
      let earliest = expected.enumerated()
        .map { $0.element + (number - $0.offset + 1 - count) * interval }
      expected.append(([now, expected.last ?? 0] + earliest).max() ?? 0)
    }
    world.simulation.run()
    #expect(starts.entries == expected.map { .milliseconds($0) })
  }

  @Test func `a rate limit created inside a loop limits like a stored one`() {
    let world = World()
    let starts = Log<Duration>()
    let works = Self.works(4, in: world, starts) { _ in RateLimit("calls", 2, per: .seconds(2)) }
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(starts.entries == [0, 0, 1, 2].map { .seconds($0) })
  }

  @Test func `rate limits with equal keys share one bucket in several queues`() {
    let world = World()
    let starts = Log<Duration>()
    let queues = [world.queue, world.makeQueue(), world.makeQueue()]
    let works = Self.works(3, in: world, starts) { _ in RateLimit("calls", 1, per: .seconds(1)) }
    for (queue, work) in zip(queues, works) { queue.addOperation(work) }
    world.simulation.run()
    #expect(starts.entries == [0, 1, 2].map { .seconds($0) })
  }

  @Test func `rate limits share a bucket only if their keys are equal`() {
    let world = World()
    let starts = Log<Duration>()
    let keys = ["a", "a", "b"]
    world.queue.addOperations(
      Self.works(3, in: world, starts) { RateLimit(keys[$0], 1, per: .seconds(1)) }
    )
    world.simulation.run()
    #expect(starts.entries == [.zero, .zero, .seconds(1)])
  }

  @Test func `a start counts for every rate of its key`() {
    let world = World()
    let starts = Log<Duration>()
    let works = Self.works(6, in: world, starts) { _ in RateLimit("api", 2, per: .seconds(2)) }
    for work in works { work.addClaim(RateLimit("api", 3, per: .seconds(30))) }
    world.queue.addOperations(works)
    world.simulation.run()
    // Two at once; the third when the first rate lets it; then the second rate, a start each 10 s.
    #expect(starts.entries == [0, 0, 1, 10, 20, 30].map { .seconds($0) })
  }

  @Test func `a rate limit has a separate bucket for each clock`() {
    let world = World()
    let starts = Log<Duration>()
    let other = SimulatedEnvironment(seed: 2)
    var environment = world.simulation.environment
    environment.clock = other.environment.clock
    let elsewhere = AdvancedOperationQueue(environment: environment)
    let works = Self.works(3, in: world, starts) { _ in RateLimit("a", 1, per: .seconds(1)) }
    world.run(works[0])
    elsewhere.addOperations(Array(works[1...]))
    world.simulation.run()
    #expect(works.map(\.didExecute) == [true, true, false])
    other.advance(by: .seconds(1))
    world.simulation.run()
    #expect(works[2].didExecute)
  }

  @Test func `an operation that waits for another claim takes no token`() {
    let world = World()
    let limit = RateLimit("calls", 1, per: .seconds(1))
    let holder = Work.claiming("holder", MutuallyExclusive("a"))
    let both = Work.claiming("both", MutuallyExclusive("a"), limit)
    let other = Work.claiming("other", limit)
    for work in [holder, both, other] {
      world.queue.addOperation(work)
      world.simulation.advance(by: .zero)
    }
    #expect(!both.didExecute)
    #expect(other.isExecuting)
    holder.finish()
    world.simulation.advance(by: .milliseconds(999))
    #expect(!both.didExecute)
    // What it waits for is the token now: the category is free for others.
    let third = Work.claiming("third", MutuallyExclusive("a", whenBusy: .fail))
    world.queue.addOperation(third)
    world.simulation.advance(by: .zero)
    #expect(third.isExecuting)
    third.finish()
    world.simulation.run()
    #expect(both.isExecuting)
    world.finishAll([both, other])
  }

  @Test func `cancelled operations take no token and delay no one`() {
    let world = World()
    let starts = Log<Duration>()
    let limit = RateLimit("calls", 1, per: .seconds(1))
    let works = Self.works(4, in: world, starts) { _ in limit }
    world.queue.addOperations(works)
    world.simulation.advance(by: .milliseconds(500))
    works[1].cancel()
    works[3].cancel()
    world.simulation.run()
    #expect(works.map(\.kind) == [.succeeded, .cancelled, .succeeded, .cancelled])
    #expect(starts.entries == [.zero, .seconds(1)])
    // Nobody waits any more, so no timer moves time.
    #expect(world.simulation.now == .seconds(1))
  }

  @Test func `each policy for a busy rate fails, skips or waits`() {
    let world = World()
    let starts = Log<Duration>()
    let policies = [WhenBusy.wait, .fail, .skip, .cancelHolder]
    let works = Self.works(4, in: world, starts) {
      RateLimit("api", 1, per: .seconds(60), whenBusy: policies[$0])
    }
    for work in works {
      world.queue.addOperation(work)
      world.simulation.advance(by: .zero)
    }
    #expect(works[1].claimError == .rateExceeded(count: 1, duration: .seconds(60)))
    #expect(
      works[1].claimError?.description == "The rate of 1 start per 1 min doesn't allow a start now."
    )
    #expect(
      works[2].outcome.map { "\($0)" }
        == "skipped: “api” allows no start now: its rate is 1 start per 1 min"
    )
    #expect(works[3].state == .ready)
    world.simulation.run()
    #expect(works[3].kind == .succeeded)
    #expect(starts.entries == [.zero, .seconds(60)])
  }

  @Test(arguments: seeds)
  func `a rate limit applies to manually started operations`(seed: UInt64) {
    let world = World(seed: seed)
    let starts = Log<Duration>()
    let limit = RateLimit("calls", 1, per: .seconds(1))
    let works = Self.works(3, in: world, starts) { _ in limit }
    for work in works {
      work.environment = world.simulation.environment
      work.start()
    }
    world.simulation.run()
    #expect(starts.entries == [0, 1, 2].map { .seconds($0) })
  }

  @Test func `a rate limit overtakes operations whose queue is full`() {
    let world = World()
    let starts = Log<Duration>()
    let full = world.makeQueue(limit: 1)
    let limit = RateLimit("calls", 1, per: .seconds(1))
    let works = Self.works(3, in: world, starts) { _ in limit }
    full.addOperations(Array(works[..<2]))
    world.simulation.advance(by: .zero)
    let busy = Work.open("busy")
    full.addOperation(busy)
    world.simulation.advance(by: .zero)
    world.queue.addOperation(works[2])
    world.simulation.advance(by: .seconds(1))
    #expect(works[2].kind == .succeeded)
    #expect(!works[1].didExecute)
    busy.finish()
    world.simulation.run()
    #expect(starts.entries == [0, 1, 2].map { .seconds($0) })
  }

  @Test func `a rate limit has one timer for all waiting operations`() {
    let world = World()
    let clock = CountingClock(world.simulation)
    var environment = world.simulation.environment
    environment.clock = OperationClock(source: clock)
    let queue = AdvancedOperationQueue(environment: environment)
    let starts = Log<Duration>()
    let limit = RateLimit("calls", 1, per: .seconds(1))
    let works = Self.works(20, in: world, starts) { _ in limit }
    queue.addOperations(works)
    world.simulation.advance(by: .zero)
    #expect(clock.pendingCount == 1)
    works[1].cancel()
    world.simulation.run()
    #expect(clock.pendingCount == 0)
    #expect(clock.peak == 1)
    #expect(starts.entries.count == 19)
  }

  /// The clock of a simulation, which counts the timers that are set.
  private final class CountingClock: OperationClock.Source {
    private let clock: OperationClock
    private let state = Locked((timers: [OperationTimer](), peak: 0))

    init(_ simulation: SimulatedEnvironment) { clock = simulation.environment.clock }

    let identity = ClockIdentity()
    var now: Duration { clock.now }
    var pendingCount: Int { state.withLock { $0.timers.count(where: \.isPending) } }
    var peak: Int { state.withLock { $0.peak } }

    func sleep(until deadline: Duration) async throws { try await clock.sleep(until: deadline) }

    func schedule(
      at deadline: Duration,
      _ action: @escaping @Sendable () -> Void
    ) -> OperationTimer {
      let timer = clock.schedule(at: deadline, action)
      state.withLock { state in
        state.timers.append(timer)
        state.peak = max(state.peak, state.timers.count(where: \.isPending))
      }
      return timer
    }
  }
}
