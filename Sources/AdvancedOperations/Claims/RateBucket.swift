/// When something may start, for all rates that are asked for under one key.
///
/// The generic cell rate algorithm of ITU-T I.371: instead of tokens it keeps, per rate, the time at
/// which the bucket will be full again. That is exact, and needs nothing to be done as time goes by.
package struct RateBucket: Sendable {
  /// So many within a time.
  package struct Rate: Equatable, Sendable {
    let count: Int
    let duration: Duration
    /// The time that one token takes to come back.
    let interval: Duration

    init(count: Int, duration: Duration) {
      self.count = count
      self.duration = duration
      interval = duration / count
    }
  }

  /// The rates that were ever asked for, and when the bucket of each is full; they are few.
  private var known: [(rate: Rate, fullAt: Duration)] = []
  /// The latest time that is known.
  private(set) var now: Duration

  init(now: Duration) { self.now = now }

  mutating func timePassed(to time: Duration) { now = max(now, time) }

  /// The time from which all of some rates allow a start, if nothing else starts before.
  func allowedAt(_ rates: [Rate]) -> Duration {
    var latest: Duration?
    for rate in rates {
      let entry = known.first { $0.rate == rate }
      let time = entry.map { $0.fullAt + rate.interval - rate.duration } ?? now
      latest = max(latest ?? time, time)
    }
    return latest ?? now
  }

  /// Whether all of some rates allow a start now.
  func allows(_ rates: [Rate]) -> Bool { allowedAt(rates) <= now }

  /// Something starts: it counts for every rate that was ever asked for.
  mutating func started(_ rates: [Rate]) {
    for rate in rates where !known.contains(where: { $0.rate == rate }) {
      known.append((rate, now))
    }
    for index in known.indices {
      known[index].fullAt = max(known[index].fullAt, now) + known[index].rate.interval
    }
  }

  /// Whether nothing is known that a new bucket wouldn't know.
  func isFull(at time: Duration) -> Bool { known.allSatisfy { $0.fullAt <= time } }
}
