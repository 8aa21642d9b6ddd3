/// When something may start, for all rates that are asked for under one key.
///
/// The generic cell rate algorithm of ITU-T I.371: instead of tokens it keeps, per rate, the time at
/// which the bucket will be full again. That is exact, and needs nothing to be done as time goes by.
package struct RateBucket: Sendable {
  /// So many within a time.
  package struct Rate: Hashable, Sendable {
    let count: Int
    let duration: Duration

    /// The time that one token takes to come back.
    var interval: Duration { duration / count }
  }

  /// When the bucket of each rate is full.
  private var fullAt: [Rate: Duration] = [:]
  /// The latest time that is known.
  private(set) var now: Duration

  init(now: Duration) { self.now = now }

  mutating func timePassed(to time: Duration) { now = max(now, time) }

  /// The time from which all of some rates allow a start, if nothing else starts before.
  func allowedAt(_ rates: [Rate]) -> Duration {
    rates.map { rate in
      fullAt[rate].map { $0 + rate.interval - rate.duration } ?? now
    }
    .max() ?? now
  }

  /// Whether all of some rates allow a start now.
  func allows(_ rates: [Rate]) -> Bool { allowedAt(rates) <= now }

  /// Something starts: it counts for every rate that was ever asked for.
  mutating func started(_ rates: [Rate]) {
    for rate in rates where fullAt[rate] == nil { fullAt[rate] = now }
    for (rate, time) in fullAt { fullAt[rate] = max(time, now) + rate.interval }
  }

  /// Whether nothing is known that a new bucket wouldn't know.
  func isFull(at time: Duration) -> Bool { fullAt.values.allSatisfy { $0 <= time } }
}
