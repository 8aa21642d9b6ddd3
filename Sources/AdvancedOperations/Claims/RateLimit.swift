import CoreOperations

/// Lets only so many operations start within a time, on average.
///
/// The key names a bucket of tokens. The bucket holds at most as many tokens as the count, so that
/// many operations may start at once; each start takes one token, and tokens come back evenly, the
/// whole count within the duration.
///
/// ```swift
/// for request in requests {
///   request.addClaim(RateLimit("feed", 100, per: .seconds(60)))
/// }
/// ```
///
/// Claims with equal keys share a bucket, wherever they were made, if their operations share an
/// ``ClaimDomain``, as they do by default.
///
/// Several rates of one key hold together: an operation that has more than one starts when all of
/// them allow it.
///
/// ```swift
/// call.addClaim(RateLimit("api", 10, per: .seconds(1)))
/// call.addClaim(RateLimit("api", 1_000, per: .seconds(3_600)))
/// ```
///
/// Every start counts for all rates of its key, also for those that only other operations have. An
/// operation waits only for the rates that it has itself.
///
/// - A token is taken when the operation starts, and is not given back at its end. With
///   ``RetryPolicy/releasingSlot()`` each attempt takes one; otherwise an operation takes one,
///   however often it tries. An operation that is cancelled at that moment, or held back by a
///   dependency or a condition, returns its token.
/// - An operation that waits for a token uses no task and no thread. A bucket has one timer for all
///   operations that wait for it.
/// - Time is that of the operation's environment. Operations whose clocks differ have separate
///   buckets, which go away with their clocks.
public struct RateLimit: OperationClaim {
  /// The key.
  public let name: String
  /// What is claimed.
  public let requests: [ClaimRequest]

  /// Claims a start.
  ///
  /// - Parameters:
  ///   - key: Names the bucket in the domain; equal keys share one.
  ///   - count: How many operations may start at once, and on average within the duration. With a
  ///     full bucket at its begin, nearly twice as many may start within one duration.
  ///   - duration: How long it takes until an empty bucket is full again. A duration longer than
  ///     `.seconds(Int64.max)` counts as that one.
  ///   - whenBusy: What to do when there is no token. A token has no holder, so
  ///     ``WhenBusy/cancelHolder`` means to wait.
  /// - Precondition: The count is at least 1, and the duration more than zero.
  public init(_ key: String, _ count: Int, per duration: Duration, whenBusy: WhenBusy = .wait) {
    guard count >= 1, duration > .zero else {
      trap(
        "RateLimit “\(key)” was created with the count \(count) per \(duration). "
          + "Give a count of 1 or more and a duration of more than zero."
      )
    }
    name = key
    let rate = RateBucket.Rate(count: count, duration: duration.clamped)
    requests = [ClaimRequest(.rate(key), .start([rate]), whenBusy: whenBusy)]
  }
}

/// When something may start, for all rates that are asked for under one key.
///
/// The generic cell rate algorithm of ITU-T I.371: instead of tokens it keeps, per rate, the time
/// at which the bucket will be full again. That is exact, and needs nothing to be done as time goes
/// by.
package struct RateBucket: Sendable {
  /// So many within a time.
  package struct Rate: Equatable, Sendable {
    let count: Int
    let duration: Duration
    /// The time that one token takes to come back, in whole attoseconds.
    let interval: Duration
    /// What is left of that, in parts of an attosecond of which there are `count`.
    let rest: Int

    package init(count: Int, duration: Duration) {
      self.count = count
      // So that a sum of a few never overflows.
      self.duration = duration.clamped
      let (interval, rest) = self.duration.attoseconds.quotientAndRemainder(
        dividingBy: Int128(count)
      )
      self.interval = Duration(attoseconds: interval)
      self.rest = Int(clamping: rest)
    }
  }

  /// Something that was counted.
  package struct Start: Sendable {
    fileprivate let number: UInt64
    fileprivate let time: Duration
  }

  private struct Level {
    let rate: Rate
    /// When the bucket is full; beyond the longest duration it counts on, so that what is taken
    /// back leaves what others took.
    var fullAt: Duration
    /// What is to be added to that, as in ``Rate/rest``: three tokens of a third are a whole one.
    var fraction = 0
    /// The number of the first start that it counts.
    let first: UInt64

    /// A later time than can be expressed; from there on nothing is taken back.
    static let never = Duration(attoseconds: .max)

    /// When there will be a token; to the attosecond, and never later than that.
    var allowedAt: Duration {
      (fullAt - (rate.duration - rate.interval) + sum(fraction, rate.rest).carry).clamped
    }

    mutating func started(at now: Duration) {
      if fullAt < now { (fullAt, fraction) = (now, 0) }
      let (rest, carry) = sum(fraction, rate.rest)
      fraction = rest
      let (sum, isOver) = fullAt.attoseconds
        .addingReportingOverflow((rate.interval + carry).attoseconds)
      fullAt = isOver ? Self.never : Duration(attoseconds: sum)
    }

    mutating func takenBack(after age: Duration) {
      guard fullAt < Self.never, rate.interval > age else { return }
      fullAt -= rate.interval - age
      fraction -= rate.rest
      if fraction < 0 {
        fraction += rate.count
        fullAt -= Duration(attoseconds: 1)
      }
    }

    func isFull(at time: Duration) -> Bool { fullAt < time || (fullAt == time && fraction == 0) }

    /// Two rests, and the attosecond that they make together.
    private func sum(_ a: Int, _ b: Int) -> (rest: Int, carry: Duration) {
      // Without a sum that may not be expressible.
      a >= rate.count - b
        ? (a - (rate.count - b), Duration(attoseconds: 1)) : (a + b, .zero)
    }
  }

  /// The rates that were ever asked for; they are few.
  private var levels: [Level] = []
  private var lastNumber: UInt64 = 0
  /// The latest time that is known.
  private(set) var now: Duration

  package init(now: Duration) { self.now = now.clamped }

  package mutating func timePassed(to time: Duration) { now = max(now, time.clamped) }

  /// The time from which all of some rates allow a start, if nothing else starts before.
  package func allowedAt(_ rates: [Rate]) -> Duration {
    var latest: Duration?
    for rate in rates {
      let time = levels.first { $0.rate == rate }?.allowedAt ?? now
      latest = max(latest ?? time, time)
    }
    return latest ?? now
  }

  /// Whether all of some rates allow a start now.
  func allows(_ rates: [Rate]) -> Bool { allowedAt(rates) <= now }

  /// Something starts: it counts for every rate that was ever asked for.
  package mutating func started(_ rates: [Rate]) -> Start {
    lastNumber += 1
    for rate in rates where !levels.contains(where: { $0.rate == rate }) {
      levels.append(Level(rate: rate, fullAt: now, first: lastNumber))
    }
    for index in levels.indices { levels[index].started(at: now) }
    return Start(number: lastNumber, time: now)
  }

  /// What was to start doesn't: gives back what of its tokens has not come back by itself.
  ///
  /// That may be less than what it took from others, because without it the bucket may have been
  /// full meanwhile; it is never more, so that no rate is exceeded.
  package mutating func takenBack(_ start: Start) {
    let age = now - start.time
    for index in levels.indices where levels[index].first <= start.number {
      levels[index].takenBack(after: age)
    }
  }

  /// Whether nothing is known that a new bucket wouldn't know.
  package func isFull(at time: Duration) -> Bool { levels.allSatisfy { $0.isFull(at: time) } }
}

/// The timer of a rate, which is due when the first waiter can start.
struct BucketTimer {
  /// The time at which the timer is due; nil if there is none.
  private(set) var deadline: Duration?
  /// Tells a timer from the next.
  private(set) var number: UInt64 = 0
  private var timer: OperationTimer?

  /// Sets the time, or none.
  ///
  /// - Parameters:
  ///   - deadline: The time.
  ///   - number: Tells the timer from all that were set before.
  /// - Returns: The timer that was set before, to be cancelled.
  mutating func set(_ deadline: Duration?, number: UInt64) -> OperationTimer? {
    self.deadline = deadline
    self.number = number
    defer { timer = nil }
    return timer
  }

  /// A timer was created; returns whether it is still wanted.
  mutating func created(_ timer: OperationTimer, number: UInt64) -> Bool {
    guard self.number == number, deadline != nil else { return false }
    self.timer = timer
    return true
  }
}
