import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@testable import AdvancedOperations

/// An answer of a service that limits its clients.
private struct TooMany: Error, CustomStringConvertible {
  let retryAfter: Duration?
  var description: String { "status 429" }
}

/// Costs of starts, strict windows, and holds.
@Suite(.watched) struct `Rates with costs, windows and holds` {
  private static func work(_ name: String, _ log: Log<String>, _ limits: RateLimit...) -> Work {
    let work = Work(name) { work in
      log.add("\(work.environment.clock.now.components.seconds) \(name)")
      work.finish()
    }
    for limit in limits { work.addClaim(limit) }
    return work
  }

  private static func seconds(_ starts: Log<Duration>) -> [Int64] {
    starts.entries.map(\.components.seconds)
  }

  private static func works(
    _ count: Int,
    in world: World,
    _ starts: Log<Duration>,
    _ limit: RateLimit
  ) -> [Work] {
    let simulation = world.simulation
    return (0..<count).map { number in
      let work = Work("w\(number)") { work in
        starts.add(simulation.now)
        work.finish()
      }
      work.addClaim(limit)
      return work
    }
  }

  // MARK: Costs

  @Test(arguments: seeds)
  func `a start takes as many tokens as it costs`(seed: UInt64) {
    let world = World(seed: seed)
    let starts = Log<Duration>()
    let limit = RateLimit("tokens", 60, per: .seconds(60), cost: 20)
    world.queue.addOperations(Self.works(6, in: world, starts, limit))
    world.simulation.run()
    #expect(Self.seconds(starts) == [0, 0, 0, 20, 40, 60])
  }

  @Test func `operations with different costs share a bucket in their order`() {
    let world = World()
    let log = Log<String>()
    for (name, cost) in [("a", 8), ("b", 5), ("c", 1), ("d", 10)] {
      world.run(Self.work(name, log, RateLimit("tokens", 10, per: .seconds(10), cost: cost)))
    }
    #expect(log.entries == ["0 a", "3 b", "4 c", "14 d"])
  }

  @Test func `costs are exact even if the duration isn't divisible`() {
    let rate = RateBucket.Rate(count: 7, duration: .seconds(1))
    var (one, two) = (RateBucket(now: .zero), RateBucket(now: .zero))
    for _ in 0..<100 {
      _ = one.started([rate], cost: 3)
      for _ in 0..<3 { _ = two.started([rate]) }
      for cost in 1...7 {
        #expect(one.allowedAt([rate], cost: cost) == two.allowedAt([rate], cost: cost))
      }
    }
  }

  @Test func `a returned start returns its cost`() {
    let rate = RateBucket.Rate(count: 10, duration: .seconds(10))
    var bucket = RateBucket(now: .zero)
    let start = bucket.started([rate], cost: 7)
    bucket.takenBack(start)
    #expect(bucket.allowedAt([rate], cost: 10) == .zero)
    #expect(bucket.isFull(at: .zero))
  }

  @Test(arguments: WhenBusy.allCases)
  func `a cost above the count fails immediately`(whenBusy: WhenBusy) {
    let world = World()
    let blocked = Log<String>()
    let limit = RateLimit("tokens", 10, per: .seconds(60), cost: 10)
    world.run(Self.work("first", blocked, limit))
    let large = RateLimit("tokens", 10, per: .seconds(60), cost: 11, whenBusy: whenBusy)
    let work = Self.work("large", blocked, large)
    world.queue.addOperation(work)
    world.simulation.advance(by: .zero)
    #expect(work.claimError == .exceedsCapacity(needed: 11, capacity: 10))
    #expect(blocked.entries == ["0 first"])
  }

  @Test func `huge costs and counts don't overflow`() {
    let big = RateBucket.Rate(count: .max, duration: .seconds(Int64.max))
    let small = RateBucket.Rate(count: 1, duration: .seconds(Int64.max))
    var bucket = RateBucket(now: .zero)
    let start = bucket.started([big, small], cost: .max)
    #expect(bucket.allowedAt([big]) > .zero)
    bucket.takenBack(start)
    #expect(bucket.allowedAt([big], cost: .max) == .zero)
  }

  // MARK: Strict windows

  @Test(arguments: seeds)
  func `under load, a strict rate starts its whole count in each window`(seed: UInt64) {
    let world = World(seed: seed)
    let starts = Log<Duration>()
    let limit = RateLimit("calls", 3, inAny: .seconds(10))
    world.queue.addOperations(Self.works(10, in: world, starts, limit))
    world.simulation.run()
    #expect(Self.seconds(starts) == [0, 0, 0, 10, 10, 10, 20, 20, 20, 30])
  }

  @Test(arguments: Effort.seeds(20))
  func `no window has more starts than the count, at random arrival times`(seed: UInt64) {
    var random = Random(seed)
    let count = Int.random(in: 1...20, using: &random)
    let rate = RateBucket.Rate(count: count, duration: .milliseconds(1_000), isStrict: true)
    var bucket = RateBucket(now: .zero)
    var now = Duration.zero
    var starts: [(time: Duration, cost: Int)] = []
    for _ in 0..<Effort.size(20_000) {
      now += .milliseconds(Int.random(in: 0...(2_000 / count), using: &random))
      let cost = Int.random(in: 1...count, using: &random)
      // Each operation starts as early as it may, in the order of arrival.
      now = max(now, bucket.allowedAt([rate], cost: cost))
      bucket.timePassed(to: now)
      #expect(bucket.allowedAt([rate], cost: cost) <= now)
      let start = bucket.started([rate], cost: cost)
      if Int.random(in: 0..<10, using: &random) == 0 {
        bucket.takenBack(start)
      } else {
        starts.append((now, cost))
      }
    }
    var (first, sum) = (0, 0)
    var isExceeded = false
    for start in starts {
      sum += start.cost
      while starts[first].time + rate.duration <= start.time {
        sum -= starts[first].cost
        first += 1
      }
      if sum > count { isExceeded = true }
    }
    #expect(!isExceeded)
  }

  @Test func `a strict rate and a bucket of one key apply together`() {
    let world = World()
    let starts = Log<Duration>()
    let simulation = world.simulation
    let works = (0..<6).map { number in
      let work = Work("w\(number)") { work in
        starts.add(simulation.now)
        work.finish()
      }
      work.addClaim(RateLimit("calls", 2, inAny: .seconds(10)))
      work.addClaim(RateLimit("calls", 1, per: .seconds(1)))
      return work
    }
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(Self.seconds(starts) == [0, 1, 10, 11, 20, 21])
  }

  @Test func `a returned start frees its place in the window`() {
    let rate = RateBucket.Rate(count: 1, duration: .seconds(10), isStrict: true)
    var bucket = RateBucket(now: .zero)
    let start = bucket.started([rate])
    #expect(bucket.allowedAt([rate]) == .seconds(10))
    #expect(!bucket.isFull(at: .seconds(9)))
    #expect(bucket.isFull(at: .seconds(10)))
    bucket.takenBack(start)
    #expect(bucket.allowedAt([rate]) == .zero)
  }

  // MARK: Holds

  @Test(arguments: seeds)
  func `a hold stops all that claim the key, and work goes on at the rate`(seed: UInt64) {
    let world = World(seed: seed)
    let (starts, others) = (Log<Duration>(), Log<Duration>())
    let domain = world.simulation.environment.claimDomain
    let limit = RateLimit("api", 60, per: .seconds(60))
    world.queue.addOperations(Self.works(10, in: world, starts, limit))
    world.simulation.advance(by: .seconds(1))
    domain.hold(rate: "api", until: .seconds(61), on: world.simulation.environment.clock)
    world.queue.addOperations(Self.works(20, in: world, starts, limit))
    world.queue.addOperations(
      Self.works(3, in: world, others, RateLimit("b", 60, per: .seconds(60)))
    )
    world.simulation.run()
    #expect(Self.seconds(starts) == [Int64](repeating: 0, count: 10) + Array(61..<81))
    #expect(Self.seconds(others) == [1, 1, 1])
  }

  @Test(arguments: seeds)
  func `a hold of a strict rate ends without a burst, also for a rate that is new`(seed: UInt64) {
    let world = World(seed: seed)
    let starts = Log<Duration>()
    let environment = world.simulation.environment
    environment.claimDomain.hold(rate: "api", until: .seconds(10), on: environment.clock)
    let limit = RateLimit("api", 5, inAny: .seconds(10))
    world.queue.addOperations(Self.works(5, in: world, starts, limit))
    world.simulation.run()
    #expect(Self.seconds(starts) == [10, 12, 14, 16, 18])
  }

  @Test func `a hold only becomes longer`() {
    let world = World()
    let log = Log<String>()
    let environment = world.simulation.environment
    func hold(_ end: Int) {
      environment.claimDomain.hold(rate: "api", until: .seconds(end), on: environment.clock)
    }
    hold(60)
    hold(30)
    let work = Self.work("work", log, RateLimit("api", 60, per: .seconds(60)))
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(40))
    hold(90)
    // A hold in the past changes nothing.
    hold(5)
    world.simulation.run()
    #expect(log.entries == ["90 work"])
  }

  @Test func `an operation that is cancelled in a hold leaves, and the others wait on`() {
    let world = World()
    let log = Log<String>()
    let environment = world.simulation.environment
    environment.claimDomain.hold(rate: "api", until: .seconds(60), on: environment.clock)
    let works = ["a", "b"].map { Self.work($0, log, RateLimit("api", 60, per: .seconds(60))) }
    world.queue.addOperations(works)
    world.simulation.advance(by: .seconds(10))
    works[0].cancel()
    world.simulation.run()
    #expect(log.entries == ["60 b"])
    #expect(works[0].kind == .cancelled)
  }

  @Test func `an explanation names the hold and its reason`() {
    let world = World()
    let environment = world.simulation.environment
    let reason = "status 429 (fetch 17)"
    environment.claimDomain.hold(
      rate: "api",
      until: .seconds(60),
      on: environment.clock,
      reason: reason
    )
    let work = Self.work("work", Log<String>(), RateLimit("api", 60, per: .seconds(60)))
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(2))
    #expect(
      "\(work.explain())"
        == "work waits for “api”, which is held for another 58 s: status 429 (fetch 17)"
    )
    world.simulation.run()
  }

  @Test func `resources of holds that are over are forgotten`() {
    let world = World()
    let environment = world.simulation.environment
    for number in 0..<1_000 {
      let end = world.simulation.now + .seconds(1)
      environment.claimDomain.hold(rate: "\(number)", until: end, on: environment.clock)
      world.simulation.advance(by: .seconds(2))
    }
    #expect(environment.claimDomain.resourceCount < 200)
  }

  // MARK: Retries

  @Test(arguments: seeds)
  func `one answer 429 holds all eight workers, and then one starts each second`(seed: UInt64) {
    let world = World(seed: seed, limit: 8)
    let starts = Log<Duration>()
    let clock = world.simulation.environment.clock
    let hasRefused = Changing(false)
    let policy = RetryPolicy.exponential(.seconds(1)).attempts(3)
      .retryAfter(holding: "api") { ($0 as? TooMany)?.retryAfter }
      .releasingSlot()
    let calls = (0..<40).map { number in
      let call = ResultOperation(name: "call \(number)", retry: policy) {
        starts.add(clock.now)
        try await clock.sleep(for: .seconds(1))
        if !hasRefused.value {
          hasRefused.value = true
          throw TooMany(retryAfter: .seconds(60))
        }
      }
      call.addClaim(RateLimit("api", 60, per: .seconds(60)))
      return call
    }
    world.queue.addOperations(calls)
    world.simulation.run()
    #expect(calls.allSatisfy { $0.kind == .succeeded })
    let late = starts.entries.filter { $0 > .seconds(1) }
    let early = starts.entries.count - late.count
    #expect(late == (0..<late.count).map { .seconds(61 + $0) })
    #expect(early + late.count == 41)
  }

  @Test func `a retry that keeps its slot waits for a hold, too`() {
    let world = World()
    let environment = world.simulation.environment
    let clock = environment.clock
    let starts = Log<Duration>()
    let work = ResultOperation(retry: .constant(.seconds(5)).attempts(2)) {
      starts.add(clock.now)
      throw Flaw(1)
    }
    work.addClaim(RateLimit("api", 60, per: .seconds(60)))
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(1))
    environment.claimDomain.hold(rate: "api", until: .seconds(20), on: clock)
    world.simulation.run()
    #expect(Self.seconds(starts) == [0, 20])
  }

  @Test func `a retry gives up immediately if the hold ends after its total limit`() {
    let world = World()
    let policy = RetryPolicy.constant(.seconds(1)).totalTimeout(.seconds(30))
      .retryAfter(holding: "api") { ($0 as? TooMany)?.retryAfter }
    let work = ResultOperation(retry: policy) { throw TooMany(retryAfter: .seconds(60)) }
    world.queue.addOperation(work)
    world.simulation.run()
    #expect(work.kind == .failed)
    #expect(world.simulation.now == .zero)
    // The others are held nevertheless.
    let log = Log<String>()
    world.run(Self.work("other", log, RateLimit("api", 60, per: .seconds(60))))
    #expect(log.entries == ["60 other"])
  }

  @Test func `delays of a service are capped, and never negative`() {
    func delays(_ requested: Duration?, atMost limit: Duration = .seconds(3600)) -> [Int64] {
      let world = World()
      let clock = world.simulation.environment.clock
      let starts = Log<Duration>()
      let policy = RetryPolicy.constant(.seconds(7)).attempts(2)
        .retryAfter(atMost: limit) { _ in requested }
      world.run(
        ResultOperation(retry: policy) {
          starts.add(clock.now)
          throw TooMany(retryAfter: nil)
        }
      )
      return Self.seconds(starts)
    }
    #expect(delays(nil) == [0, 7])
    #expect(delays(.seconds(20)) == [0, 20])
    #expect(delays(.seconds(-20)) == [0, 0])
    #expect(delays(.seconds(Int64.max)) == [0, 3600])
    #expect(delays(.seconds(50), atMost: .seconds(10)) == [0, 10])
  }

  // MARK: Any order

  @Test func `no operation starts in a hold, in any order of holds and cancels`() throws {
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(2_000),
      randomSchedules: Effort.drawn(200)
    ) { simulation in
      let environment = simulation.environment
      let queue = AdvancedOperationQueue(environment: environment)
      let starts = Log<Duration>()
      let works = (0..<3).map { number in
        let work = Work("w\(number)") { work in
          starts.add(environment.clock.now)
          work.finish()
        }
        work.addClaim(RateLimit("api", 2, inAny: .seconds(10)))
        return work
      }
      queue.addOperations(works)
      let heldAt = Changing<Duration?>(nil)
      simulation.addStep("hold", atAnyTime: true) {
        heldAt.value = environment.clock.now
        let end = environment.clock.now + .seconds(20)
        environment.claimDomain.hold(rate: "api", until: end, on: environment.clock)
      }
      simulation.addStep("cancel", atAnyTime: true) { works[0].cancel() }
      simulation.run()
      try #require(queue.operationCount == 0)
      let held = try #require(heldAt.value)
      let hits = starts.entries.filter { $0 > held && $0 < held + .seconds(20) }
      try #require(hits.isEmpty)
      for start in starts.entries {
        let count = starts.entries.count { $0 >= start && $0 < start + .seconds(10) }
        try #require(count <= 2)
      }
    }
    #expect(report.scheduleCount > 50)
  }
}
