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
/// **Cost.** Use a cost if a service limits an amount, such as bytes, instead of the number of calls:
///
/// ```swift
/// summary.addClaim(RateLimit("model", 90_000, per: .seconds(60), cost: 12_000))
/// ```
///
/// If the cost is more than the count, the operation fails immediately with
/// ``OperationClaimError/exceedsCapacity(needed:capacity:)``, independently of `whenBusy`. If an operation has
/// several claims to one key, its cost is the largest of their costs.
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
  ///   - cost: The number of tokens that the start takes.
  ///   - whenBusy: The behavior of the operation if there aren't enough tokens. A token has no holder, so
  ///     ``WhenBusy/cancelHolder`` means to wait.
  /// - Precondition: The count and the cost are at least 1, and the duration is more than zero.
  public init(
    _ key: String,
    _ count: Int,
    per duration: Duration,
    cost: Int = 1,
    whenBusy: WhenBusy = .wait
  ) {
    self.init(key, count, duration, isStrict: false, cost, whenBusy)
  }

  /// Creates a claim for a start that no window of a duration refuses.
  ///
  /// The costs of the starts within any window of the duration add up to the count at most. After a burst, the
  /// next operation starts when the first start of the burst is older than the duration.
  ///
  /// ```swift
  /// call.addClaim(RateLimit("api", 10, inAny: .seconds(60)))
  /// ```
  ///
  /// The key keeps the time of each start in the last window.
  ///
  /// - Parameters:
  ///   - key: The name of the bucket in the domain. Claims with equal keys share a bucket.
  ///   - count: The number of operations that may start within any window.
  ///   - window: The length of the window.
  ///   - cost: The number by which the start is counted.
  ///   - whenBusy: The behavior of the operation if it can't start now.
  /// - Precondition: The count and the cost are at least 1, and the window is more than zero.
  public init(
    _ key: String,
    _ count: Int,
    inAny window: Duration,
    cost: Int = 1,
    whenBusy: WhenBusy = .wait
  ) {
    self.init(key, count, window, isStrict: true, cost, whenBusy)
  }

  private init(
    _ key: String,
    _ count: Int,
    _ duration: Duration,
    isStrict: Bool,
    _ cost: Int,
    _ whenBusy: WhenBusy
  ) {
    guard count >= 1, duration > .zero else {
      trap(
        "RateLimit “\(key)” was created with the count \(count) per \(duration). "
          + "Give a count of 1 or more and a duration of more than zero."
      )
    }
    if cost < 1 { trap("RateLimit “\(key)” was created with the cost \(cost). Give 1 or more.") }
    name = key
    let rate = RateBucket.Rate(count: count, duration: duration.clamped, isStrict: isStrict)
    requests = [ClaimRequest(.rate(key), .start([rate], cost: cost), whenBusy: whenBusy)]
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
    /// A Boolean value that indicates whether no window of the duration has more starts than the count.
    let isStrict: Bool

    package init(count: Int, duration: Duration, isStrict: Bool = false) {
      self.count = count
      self.isStrict = isStrict
      // The duration is clamped so that a sum of a few durations never overflows.
      self.duration = duration.clamped
      let (interval, rest) = self.duration.attoseconds.quotientAndRemainder(
        dividingBy: Int128(count)
      )
      self.interval = Duration(attoseconds: interval)
      self.rest = Int(clamping: rest)
    }

    /// The time after which a number of tokens is added, with its remainder.
    fileprivate func share(of cost: Int) -> (time: Duration, rest: Int) {
      if cost == 1 { return (interval, rest) }
      // The product of two 64-bit numbers fits, but the sum of long intervals may not.
      let (whole, rest) = (Int128(rest) * Int128(cost))
        .quotientAndRemainder(dividingBy: Int128(count))
      let (product, isOver) = interval.attoseconds.multipliedReportingOverflow(by: Int128(cost))
      let (sum, isTooLong) = product.addingReportingOverflow(whole)
      return isOver || isTooLong
        ? (Level.never, 0) : (Duration(attoseconds: sum), Int(clamping: rest))
    }
  }

  /// A start that was counted.
  package struct Start: Sendable {
    fileprivate let number: UInt64
    fileprivate let time: Duration
    fileprivate let cost: Int
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
    var first: UInt64
    /// The starts in the last window; nil unless the rate is strict.
    var window: StartWindow?

    init(rate: Rate, fullAt: Duration, first: UInt64) {
      self.rate = rate
      self.fullAt = fullAt
      self.first = first
      window = rate.isStrict ? StartWindow() : nil
    }

    /// A time that represents all times that are too late to be expressed.
    ///
    /// A level at this time ignores returned tokens.
    static let never = Duration(attoseconds: .max)

    /// Returns the time at which there will be enough tokens, exact to the attosecond and never later.
    ///
    /// The cost isn't more than the count.
    func allowedAt(_ cost: Int) -> Duration {
      let share = rate.share(of: cost)
      let time = (fullAt - (rate.duration - share.time) + sum(fraction, share.rest).carry).clamped
      return max(time, window?.allowedAt(cost, rate) ?? time)
    }

    mutating func started(_ start: Start) {
      if fullAt < start.time { (fullAt, fraction) = (start.time, 0) }
      let share = rate.share(of: start.cost)
      let (rest, carry) = sum(fraction, share.rest)
      fraction = rest
      let (time, isLong) = share.time.attoseconds.addingReportingOverflow(carry.attoseconds)
      let (sum, isOver) = fullAt.attoseconds.addingReportingOverflow(time)
      fullAt = isLong || isOver ? Self.never : Duration(attoseconds: sum)
      window?.started(start)
    }

    mutating func takenBack(_ start: Start, after age: Duration) {
      window?.takenBack(start)
      let share = rate.share(of: start.cost)
      guard fullAt < Self.never, share.time > age else { return }
      fullAt -= share.time - age
      fraction -= share.rest
      if fraction < 0 {
        fraction += rate.count
        fullAt -= Duration(attoseconds: 1)
      }
    }

    /// Takes all tokens, so that there is one at a time.
    mutating func emptied(until time: Duration) {
      let full = time + (rate.duration - rate.interval)
      if fullAt < full { (fullAt, fraction) = (full, 0) }
    }

    func isFull(at time: Duration) -> Bool {
      (fullAt < time || (fullAt == time && fraction == 0))
        && window?.isEmpty(at: time, rate) != false
    }

    /// Returns the sum of two remainders, with a carry of one attosecond if they reach it.
    private func sum(_ a: Int, _ b: Int) -> (rest: Int, carry: Duration) {
      // The comparison avoids a sum that may overflow.
      a >= rate.count - b
        ? (a - (rate.count - b), Duration(attoseconds: 1)) : (a + b, .zero)
    }
  }

  /// The starts in the last window of a strict rate.
  private struct StartWindow {
    /// The starts in order, including old ones before ``first``.
    private var starts: [Start] = []
    private var first = 0
    /// The sum of the costs from ``first`` on.
    private var sum: Int128 = 0

    mutating func timePassed(to now: Duration, _ rate: Rate) {
      while first < starts.count, starts[first].time + rate.duration <= now {
        sum -= Int128(starts[first].cost)
        first += 1
      }
      // Old starts are removed in large portions, so that each start is moved a few times at most.
      if first > starts.count / 2 {
        starts.removeSubrange(..<first)
        first = 0
      }
    }

    /// Returns the time at which old starts have left enough room for a cost.
    func allowedAt(_ cost: Int, _ rate: Rate) -> Duration? {
      var excess = sum + Int128(cost) - Int128(rate.count)
      var time: Duration?
      for start in starts[first...] {
        if excess <= 0 { break }
        excess -= Int128(start.cost)
        time = start.time + rate.duration
      }
      return time
    }

    mutating func started(_ start: Start) {
      starts.append(start)
      sum += Int128(start.cost)
    }

    mutating func takenBack(_ start: Start) {
      guard let index = starts[first...].lastIndex(where: { $0.number == start.number }) else {
        return
      }
      sum -= Int128(starts.remove(at: index).cost)
    }

    func isEmpty(at time: Duration, _ rate: Rate) -> Bool {
      starts.last.map { $0.time + rate.duration <= time } ?? true
    }
  }

  /// The levels of all rates that were ever requested, which are few.
  private var levels: [Level] = []
  private var lastNumber: UInt64 = 0
  /// The latest known time.
  private(set) var now: Duration
  /// The longest hold so far, which may be over, and its reason.
  private(set) var hold: (end: Duration, reason: String)?

  package init(now: Duration) { self.now = now.clamped }

  package mutating func timePassed(to time: Duration) {
    now = max(now, time.clamped)
    for index in levels.indices {
      let rate = levels[index].rate
      levels[index].window?.timePassed(to: now, rate)
    }
  }

  /// Returns the time from which all the given rates allow a start, if no other start comes before.
  package func allowedAt(_ rates: [Rate], cost: Int = 1) -> Duration {
    var latest = hold.map { max($0.end, now) }
    for rate in rates {
      let level = levels.first { $0.rate == rate } ?? newLevel(rate)
      let time = level.allowedAt(cost)
      latest = max(latest ?? time, time)
    }
    return latest ?? now
  }

  /// Returns true if all the given rates allow a start now.
  func allows(_ rates: [Rate], cost: Int) -> Bool { allowedAt(rates, cost: cost) <= now }

  /// Returns the level of a rate that wasn't requested before.
  private func newLevel(_ rate: Rate) -> Level {
    var level = Level(rate: rate, fullAt: now, first: lastNumber)
    if let hold { level.emptied(until: hold.end) }
    return level
  }

  /// Counts a start, for every rate that was ever requested.
  package mutating func started(_ rates: [Rate], cost: Int = 1) -> Start {
    lastNumber += 1
    for rate in rates where !levels.contains(where: { $0.rate == rate }) {
      levels.append(newLevel(rate))
    }
    let start = Start(number: lastNumber, time: now, cost: cost)
    for index in levels.indices { levels[index].started(start) }
    return start
  }

  /// Returns the tokens of a counted start that doesn't happen, as far as time hasn't added them again.
  ///
  /// The returned amount may be less than the start took from others, because without the start the bucket
  /// might have become full in the meantime. The amount is never more, so no rate is exceeded.
  package mutating func takenBack(_ start: Start) {
    let age = now - start.time
    for index in levels.indices where levels[index].first <= start.number {
      levels[index].takenBack(start, after: age)
    }
  }

  /// Lets no operation start before a time; a shorter hold changes nothing.
  ///
  /// At the end of the hold, there is one token, so operations then start at the rate and not in a burst.
  ///
  /// - Returns: True if the hold has become longer.
  package mutating func held(until end: Duration, reason: String) -> Bool {
    let end = end.clamped
    guard end > now, hold.map({ end > $0.end }) ?? true else { return false }
    hold = (end, reason)
    for index in levels.indices {
      levels[index].emptied(until: end)
      // An earlier start that is taken back doesn't add a token.
      levels[index].first = lastNumber + 1
    }
    return true
  }

  /// Returns true if the bucket is full at a time, and so is equivalent to a new bucket.
  package func isFull(at time: Duration) -> Bool {
    hold.map { $0.end <= time } ?? true && levels.allSatisfy { $0.isFull(at: time) }
  }
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
