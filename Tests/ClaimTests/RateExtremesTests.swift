import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `A rate whose duration or count has no end` {
  private static let longest: [Duration] = [
    .seconds(Int64.max), .seconds(1e20), .seconds(9e18), .seconds(1e12),
  ]

  @Test(arguments: longest, [Duration.zero, .seconds(1), .seconds(1e15)])
  func `a rate of endless duration starts its count and then nothing`(
    duration: Duration,
    begin: Duration
  ) {
    let world = World()
    world.simulation.advance(by: begin)
    let limit = RateLimit("extreme", 2, per: duration, whenBusy: .skip)
    let works = (0..<3).map { Work.claiming("w\($0)", limit) }
    for work in works { world.run(work) }
    #expect(works.map(\.isExecuting) == [true, true, false])
    #expect(works[2].kind == .skipped)
    world.finishAll(works)
  }

  @Test(arguments: longest)
  func `a rate of endless duration keeps other operations waiting until the end of time`(
    duration: Duration
  ) {
    let world = World()
    let limit = RateLimit("once", 1, per: duration)
    let works = (0..<3).map { Work.claiming("w\($0)", limit) }
    world.queue.addOperations(works)
    world.simulation.advance(by: .seconds(1e11))
    #expect(works.count { $0.isExecuting } == 1)
    #expect(works.contains { "\($0.explain())".contains("once") })
    for work in works { work.isExecuting ? work.finish() : work.cancel() }
    world.simulation.run()
    #expect(works.count { $0.kind == .cancelled } == 2)
  }

  @Test(arguments: longest)
  func `a bucket gets back a token if the operation doesn't start`(duration: Duration) {
    let rate = RateBucket.Rate(count: 1, duration: duration)
    let short = RateBucket.Rate(count: 1_000_000, duration: .seconds(1))
    var bucket = RateBucket(now: .seconds(5))
    let start = bucket.started([rate, short])
    #expect(bucket.allowedAt([rate]) > .seconds(1e11))
    bucket.takenBack(start)
    #expect(bucket.allowedAt([rate]) <= .seconds(5))
    // Every start counts for every rate.
    for second in 6..<106 {
      bucket.timePassed(to: .seconds(second))
      _ = bucket.started([short])
    }
    let last = bucket.started([short])
    bucket.takenBack(last)
    #expect(bucket.allowedAt([rate]) > .seconds(1e11))
    #expect(bucket.allowedAt([short]) <= .seconds(105))
  }

  @Test(arguments: [2, 3, 7, 1_000_003, Int.max - 1, .max])
  func `a bucket counts fractions of an attosecond and takes them back`(count: Int) {
    let rate = RateBucket.Rate(count: count, duration: .seconds(1))
    var bucket = RateBucket(now: .zero)
    /// When so many tokens have come back.
    func time(_ tokens: Int) -> Duration {
      Duration(attoseconds: Int128(tokens) * Duration.seconds(1).attoseconds / Int128(count))
    }
    var starts: [RateBucket.Start] = []
    var now = Duration.zero
    for number in 1...50 {
      now = max(now, bucket.allowedAt([rate]))
      bucket.timePassed(to: now)
      starts.append(bucket.started([rate]))
      let due = number < count ? Duration.zero : time(number - count + 1)
      #expect(max(bucket.allowedAt([rate]), .zero) == due, "after \(number)")
    }
    for start in starts.reversed() { bucket.takenBack(start) }
    #expect(bucket.allowedAt([rate]) <= now)
  }

  @Test(arguments: [Duration.nanoseconds(1), .seconds(1), .seconds(Int64.max)])
  func `a rate may have any count`(duration: Duration) {
    let world = World()
    let limit = RateLimit("extreme", .max, per: duration, whenBusy: .fail)
    let works = (0..<100).map { Work.claiming("w\($0)", limit) }
    for work in works { world.run(work) }
    #expect(works.allSatisfy { $0.isExecuting })
    world.finishAll(works)
  }

  @Test func `a bucket never traps whatever the time is`() {
    let rates = Self.longest.map { RateBucket.Rate(count: 3, duration: $0) }
    for now in Self.longest + [.seconds(-1e20), .zero] {
      var bucket = RateBucket(now: .zero)
      bucket.timePassed(to: now)
      let starts = (0..<40).map { _ in bucket.started(rates) }
      _ = bucket.allowedAt(rates)
      bucket.timePassed(to: .seconds(1e20))
      for start in starts { bucket.takenBack(start) }
      _ = bucket.isFull(at: .seconds(1e20))
    }
  }
}
