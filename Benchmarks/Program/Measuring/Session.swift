import BenchmarkKit
import Foundation

/// Measures workloads, one size after the other.
struct Session {
  struct Limits: Sendable {
    /// Pairs that are measured at most.
    var repetitions = 11
    /// No further pair begins after so many seconds, or, as long as there are fewer than three,
    /// after six times as many.
    var secondsPerComparison = 0.6
    /// For sizes below this one a quarter of that has to do: there is much to measure, and little
    /// to learn from small sizes.
    var briefBelow = 0
    /// A peer whose run is expected to take longer, in seconds, is skipped.
    var cutoff = 1.5
    /// Runs are repeated until a sample has at least so many seconds.
    var shortestSample = 0.002
  }

  let limits: Limits
  let contestants: [any Contestant]
  let progress: Progress

  /// Measures a workload at all sizes for which the given seconds suffice.
  func measure(
    _ workload: any Workload,
    sizes: [Int],
    within seconds: Double
  ) throws -> WorkloadReport {
    let begun = ContinuousClock.now
    var report = WorkloadReport(name: workload.name, title: workload.title)
    var history = History()
    var previous: (lane: Lane, size: Int)?
    for size in sizes {
      progress.show("\(workload.name), \(Quantity.count(size))")
      let all = try workload.lanes(size: size, contestants: contestants)
      var measured = Measured()
      let lanes = all.filter { lane in
        guard let reason = reasonToSkip(lane, isPeer: isPeer(lane, all, workload), size, history)
        else { return true }
        measured.skipped[lane.name] = reason
        return false
      }
      guard let first = lanes.first else { continue }
      let left = seconds - (ContinuousClock.now - begun).seconds
      guard expectedSeconds(lanes, size, history) <= left else {
        report.sizesWithoutTime = sizes.filter { $0 >= size }
        break
      }
      try pair(lanes, of: workload, size: size, history: history, into: &measured)
      if workload.pairing == .firstWithOthers, let (lane, smaller) = previous,
        first.name == lane.name
      {
        // Growth is a ratio as well, and as exposed to the machine's moods.
        measured.growth = try compare(first, lane, into: &measured).map {
          GrowthReport(from: smaller, ratio: $0.time)
        }
      }
      for lane in lanes {
        history.add(lane.name, size: size, seconds: measured.samples[lane.name]?.map(\.wall))
      }
      previous = (first, size)
      report.sizes.append(measured.report(size: size, lanes: all))
    }
    report.findExponents(minimumSize: 1_000)
    return report
  }

  /// How long all comparisons at a size will take, as far as smaller sizes tell.
  private func expectedSeconds(_ lanes: [Lane], _ size: Int, _ history: History) -> Double {
    let times = lanes.map { lane in
      lane.expectedSeconds
        ?? history.expectedSeconds(lane.name, size: size, exponent: lane.assumedExponent) ?? 0
    }
    guard let first = times.first else { return 0 }
    return times.dropFirst().reduce(first) { $0 + pairsTime($1 + first) }
  }

  /// Whether one more pair is to be measured; three are, unless they take very long.
  private func isWorthAnother(_ count: Int, _ lane: Lane, after seconds: Double) -> Bool {
    let isBrief = lane.operations > 1 && lane.operations < limits.briefBelow
    return count == 0 || seconds < limits.secondsPerComparison * (isBrief ? 0.25 : 1)
      || count < 3 && seconds < 6 * limits.secondsPerComparison
  }

  /// How long one comparison takes, given the time of a pair.
  private func pairsTime(_ pair: Double) -> Double {
    let least = max(pair, min(3 * pair, 6 * limits.secondsPerComparison))
    return max(least, min(limits.secondsPerComparison, Double(limits.repetitions) * pair))
  }

  /// Whether a lane is not one of ours.
  private func isPeer(_ lane: Lane, _ all: [Lane], _ workload: any Workload) -> Bool {
    workload.pairing == .firstWithOthers && lane.name != all.first?.name
      && lane.name != GraphWorkload.withoutEdges
  }

  private func reasonToSkip(
    _ lane: Lane,
    isPeer: Bool,
    _ size: Int,
    _ history: History
  ) -> String? {
    if let objection = lane.objection { return objection }
    let expected =
      lane.expectedSeconds
      ?? history.expectedSeconds(lane.name, size: size, exponent: lane.assumedExponent)
    // What is to be shown is given more time than what it is compared with.
    guard let expected, expected > (isPeer ? limits.cutoff : 10 * limits.cutoff) else {
      return nil
    }
    return "would take about \(Quantity.time(expected)) a run"
  }

  private func pair(
    _ lanes: [Lane],
    of workload: any Workload,
    size: Int,
    history: History,
    into measured: inout Measured
  ) throws {
    let first = lanes[0]
    for lane in lanes {
      // Warm up, and see how long it takes; what is long needs no warming.
      let expected =
        lane.expectedSeconds
        ?? history.expectedSeconds(lane.name, size: size, exponent: lane.assumedExponent)
      guard lane.isWarmedUp else { continue }
      let time = try expected.flatMap { $0 > 0.2 ? $0 : nil } ?? lane.measure().wall
      measured.repeats[lane.name] = min(1_000, max(1, Int(limits.shortestSample / max(time, 1e-9))))
    }
    if lanes.count == 1 {
      _ = try compare(first, first, into: &measured)
    }
    for other in lanes.dropFirst() {
      let (subject, reference) =
        workload.pairing == .firstWithOthers ? (first, other) : (other, first)
      guard let found = try compare(subject, reference, into: &measured) else { continue }
      measured.ratios.append(
        RatioReport(
          subject: subject.name,
          reference: reference.name,
          summary: found.time,
          cpu: found.cpu
        )
      )
    }
  }

  /// Measures both back to back, again and again, and each first every other time.
  private func compare(
    _ subject: Lane,
    _ reference: Lane,
    into measured: inout Measured
  ) throws -> Comparison? {
    let isSameLane = subject.name == reference.name
    let begun = ContinuousClock.now
    var pairs: [(subject: Double, reference: Double)] = []
    var cpuPairs: [(subject: Double, reference: Double)] = []
    let units = (subject: Double(subject.units), reference: Double(reference.units))
    while pairs.count < limits.repetitions,
      isWorthAnother(pairs.count, subject, after: (ContinuousClock.now - begun).seconds)
    {
      let repeats = (
        measured.repeats[subject.name, default: 1], measured.repeats[reference.name, default: 1]
      )
      let samples: (subject: Sample, reference: Sample)
      if pairs.count.isMultiple(of: 2) {
        samples.subject = try subject.measure(repeats: repeats.0)
        samples.reference = try reference.measure(repeats: repeats.1)
      } else {
        samples.reference = try reference.measure(repeats: repeats.1)
        samples.subject = try subject.measure(repeats: repeats.0)
      }
      measured.samples[subject.name, default: []].append(samples.subject)
      if !isSameLane { measured.samples[reference.name, default: []].append(samples.reference) }
      pairs.append(
        (samples.subject.wall / units.subject, samples.reference.wall / units.reference)
      )
      cpuPairs.append(
        (samples.subject.cpu / units.subject, samples.reference.cpu / units.reference)
      )
    }
    return RatioSummary(pairs).map { Comparison(time: $0, cpu: RatioSummary(cpuPairs)) }
  }
}

/// What was measured at one size so far.
private struct Measured {
  var samples: [String: [Sample]] = [:]
  var repeats: [String: Int] = [:]
  var ratios: [RatioReport] = []
  var skipped: [String: String] = [:]
  var growth: GrowthReport?

  func report(size: Int, lanes: [Lane]) -> SizeReport {
    SizeReport(
      size: size,
      lanes: lanes.compactMap { lane in
        samples[lane.name].flatMap { LaneReport(lane, samples: $0) }
      },
      ratios: ratios,
      skipped: lanes.compactMap { lane in
        skipped[lane.name].map { SkipReport(lane: lane.name, reason: $0) }
      },
      growth: growth
    )
  }
}

/// How long lanes took at smaller sizes.
private struct History {
  private var points: [String: [(size: Double, cost: Double)]] = [:]

  mutating func add(_ lane: String, size: Int, seconds: [Double]?) {
    guard let middle = seconds.flatMap({ Statistics.median($0) }) else { return }
    points[lane, default: []].append((Double(size), middle))
  }

  func expectedSeconds(_ lane: String, size: Int, exponent: Double) -> Double? {
    Statistics.extrapolate(points[lane] ?? [], to: Double(size), assumedExponent: exponent)
  }
}
