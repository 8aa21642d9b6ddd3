import CoreOperations

/// A claim that limits the average number of operations that start within a duration.
///
/// The key names a *token bucket*, which holds at most as many tokens as the count. Each start takes one
/// token. With a full bucket, as many operations as the count may start at the same time. Tokens are added
/// evenly, the whole count within the duration.
///
/// ```swift
/// for request in requests {
///   request.addClaim(RateLimit("feed", 100, per: .seconds(60)))
/// }
/// ```
///
/// Claims with equal keys share a bucket if the environments of their operations share a ``ClaimDomain``, as
/// they do by default.
///
/// Several rates of one key apply together. An operation with several rates starts when all of them allow the
/// start.
///
/// ```swift
/// call.addClaim(RateLimit("api", 10, per: .seconds(1)))
/// call.addClaim(RateLimit("api", 1_000, per: .seconds(3_600)))
/// ```
///
/// Every start counts for all rates of its key, including rates that only other operations have. An operation
/// waits only for its own rates.
///
/// - An operation takes a token when it starts, and doesn't return the token at its end. With
///   ``RetryPolicy/releasingSlot()``, each attempt takes a token. Otherwise, an operation takes one token for
///   all its attempts. If the operation is cancelled at its start, or delayed by a dependency or a condition,
///   it returns the token.
/// - An operation that waits for a token uses no task and no thread. A bucket has one timer for all
///   operations that wait for it.
/// - The clock of the operation's environment measures the time. Operations with different clocks have
///   separate buckets, which are deallocated with their clocks.
public struct RateLimit: OperationClaim {
  /// The key of the bucket.
  public let name: String
  /// The request for a start.
  public let requests: [ClaimRequest]

  /// Creates a claim for a start within a rate.
  ///
  /// - Parameters:
  ///   - key: The name of the bucket in the domain. Claims with equal keys share a bucket.
  ///   - count: The number of operations that may start at the same time, and on average within the duration.
  ///     If the bucket is full at the beginning, nearly twice as many may start within one duration.
  ///   - duration: The time in which an empty bucket becomes full again. A duration longer than
  ///     `.seconds(Int64.max)` is shortened to that value.
  ///   - whenBusy: The behavior of the operation if there is no token. A token has no holder, so
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

/// A token bucket, which determines when a start is allowed by all rates of one key.
///
/// The bucket uses the generic cell rate algorithm of ITU-T I.371. Instead of tokens, it stores for each rate
/// the time at which the bucket will be full again. The algorithm is exact, and needs no periodic work.
package struct RateBucket: Sendable {
  /// A rate, which is a number of starts within a duration.
  package struct Rate: Equatable, Sendable {
    let count: Int
    let duration: Duration
    /// The time after which one token is added, in whole attoseconds.
    let interval: Duration
    /// The remainder of the interval, in units of an attosecond divided by `count`.
    let rest: Int

    package init(count: Int, duration: Duration) {
      self.count = count
      // The duration is clamped so that a sum of a few durations never overflows.
      self.duration = duration.clamped
      let (interval, rest) = self.duration.attoseconds.quotientAndRemainder(
        dividingBy: Int128(count)
      )
      self.interval = Duration(attoseconds: interval)
      self.rest = Int(clamping: rest)
    }
  }

  /// A start that was counted.
  package struct Start: Sendable {
    fileprivate let number: UInt64
    fileprivate let time: Duration
  }

  private struct Level {
    let rate: Rate
    /// The time at which the bucket is full.
    ///
    /// The time may exceed the longest duration, so that returned tokens don't change the tokens that others
    /// took.
    var fullAt: Duration
    /// The fraction to add to the time, in the unit of ``Rate/rest``: three thirds of an attosecond are a
    /// whole one.
    var fraction = 0
    /// The number of the first start that the level counts.
    let first: UInt64

    /// A time that represents all times that are too late to be expressed.
    ///
    /// A level at this time ignores returned tokens.
    static let never = Duration(attoseconds: .max)

    /// The time at which there will be a token, exact to the attosecond and never later.
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

    /// Returns the sum of two remainders, with a carry of one attosecond if they reach it.
    private func sum(_ a: Int, _ b: Int) -> (rest: Int, carry: Duration) {
      // The comparison avoids a sum that may overflow.
      a >= rate.count - b
        ? (a - (rate.count - b), Duration(attoseconds: 1)) : (a + b, .zero)
    }
  }

  /// The levels of all rates that were ever requested, which are few.
  private var levels: [Level] = []
  private var lastNumber: UInt64 = 0
  /// The latest known time.
  private(set) var now: Duration

  package init(now: Duration) { self.now = now.clamped }

  package mutating func timePassed(to time: Duration) { now = max(now, time.clamped) }

  /// Returns the time from which all the given rates allow a start, if no other start comes before.
  package func allowedAt(_ rates: [Rate]) -> Duration {
    var latest: Duration?
    for rate in rates {
      let time = levels.first { $0.rate == rate }?.allowedAt ?? now
      latest = max(latest ?? time, time)
    }
    return latest ?? now
  }

  /// Returns true if all the given rates allow a start now.
  func allows(_ rates: [Rate]) -> Bool { allowedAt(rates) <= now }

  /// Counts a start, for every rate that was ever requested.
  package mutating func started(_ rates: [Rate]) -> Start {
    lastNumber += 1
    for rate in rates where !levels.contains(where: { $0.rate == rate }) {
      levels.append(Level(rate: rate, fullAt: now, first: lastNumber))
    }
    for index in levels.indices { levels[index].started(at: now) }
    return Start(number: lastNumber, time: now)
  }

  /// Returns the tokens of a counted start that doesn't happen, as far as time hasn't added them again.
  ///
  /// The returned amount may be less than the start took from others, because without the start the bucket
  /// might have become full in the meantime. The amount is never more, so no rate is exceeded.
  package mutating func takenBack(_ start: Start) {
    let age = now - start.time
    for index in levels.indices where levels[index].first <= start.number {
      levels[index].takenBack(after: age)
    }
  }

  /// Returns true if the bucket is full at a time, and so is equivalent to a new bucket.
  package func isFull(at time: Duration) -> Bool { levels.allSatisfy { $0.isFull(at: time) } }
}

/// The timer of a rate, which fires when the first waiter can start.
struct BucketTimer {
  /// The time at which the timer fires; nil if there is no timer.
  private(set) var deadline: Duration?
  /// The number that distinguishes a timer from the next timer.
  private(set) var number: UInt64 = 0
  private var timer: OperationTimer?

  /// Sets or removes the deadline.
  ///
  /// - Parameters:
  ///   - deadline: The time at which the timer fires; nil to remove the timer.
  ///   - number: The number that distinguishes the timer from all earlier timers.
  /// - Returns: The previous timer, which the caller cancels.
  mutating func set(_ deadline: Duration?, number: UInt64) -> OperationTimer? {
    self.deadline = deadline
    self.number = number
    defer { timer = nil }
    return timer
  }

  /// Stores a timer that was created, and returns true if the timer is still needed.
  mutating func created(_ timer: OperationTimer, number: UInt64) -> Bool {
    guard self.number == number, deadline != nil else { return false }
    self.timer = timer
    return true
  }
}
