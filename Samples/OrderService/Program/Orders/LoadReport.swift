import ServiceSupport

/// What became of the orders of a load, and how long it took.
struct LoadReport: CustomStringConvertible {
  /// The orders that were accepted.
  var ids: [String] = []
  /// How many are in which state, as far as it is known.
  var outcomes: [String: Int] = [:]
  /// How many requests were repeated, and why.
  var repetitions: [String: Int] = [:]
  /// How many were refused, or got no answer, and why: those were never acknowledged.
  var refusals: [String: Int] = [:]
  /// How long the requests took that were answered.
  var latencies: [Duration] = []
  /// How long it took to place all of them.
  var duration = Duration.zero
  /// How long it took until all were final; nil if that wasn't waited for.
  var totalDuration: Duration?

  mutating func add(_ placed: OrderClient.Placed) {
    for (reason, count) in placed.repetitions { repetitions[reason, default: 0] += count }
    switch placed.result {
    case .success(let order):
      ids.append(order.id)
      outcomes[order.state, default: 0] += 1
      latencies.append(placed.latency)
    case .failure(let refusal): refusals[refusal.reason, default: 0] += 1
    }
  }

  /// What must not become of an order that was acknowledged; a sentence each.
  var losses: [String] {
    let names = [
      OrderClient.lost: "were acknowledged, and the service doesn't know them",
      OrderClient.unfinished: "were acknowledged, and aren't final in time",
    ]
    return names.sorted { $0.key < $1.key }.compactMap { state, text in
      outcomes[state].map { "\($0) orders \(text)." }
    }
  }

  var description: String {
    var lines = [
      "placed    \(ids.count) in \(DurationText.text(duration)), \(rate(ids.count, duration))/s",
      "states    \(Self.list(outcomes))",
    ]
    if let totalDuration {
      let rate = rate(ids.count, totalDuration)
      lines.append("final     after \(DurationText.text(totalDuration)), \(rate)/s")
    }
    if !refusals.isEmpty { lines.append("refused   \(Self.list(refusals)); never acknowledged") }
    if !repetitions.isEmpty { lines.append("repeated  \(Self.list(repetitions))") }
    let sorted = latencies.sorted()
    if let longest = sorted.last {
      let (half, most) = (Self.percentile(50, sorted), Self.percentile(99, sorted))
      lines.append(
        "answers   p50 \(DurationText.text(half)), p99 \(DurationText.text(most)), "
          + "longest \(DurationText.text(longest))"
      )
    }
    return (lines + losses).joined(separator: "\n")
  }

  private func rate(_ count: Int, _ duration: Duration) -> String {
    let rate = duration > .zero ? Double(count) / (duration / .seconds(1)) : 0
    return "\(Int(rate.rounded()))"
  }

  /// The value below or at which so many of a hundred are (nearest rank).
  static func percentile(_ percent: Int, _ sorted: [Duration]) -> Duration {
    guard !sorted.isEmpty else { return .zero }
    let rank = (sorted.count * percent + 99) / 100
    return sorted[min(max(rank, 1), sorted.count) - 1]
  }

  private static func list(_ counts: [String: Int]) -> String {
    if counts.isEmpty { return "none" }
    return counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
  }
}
