import BenchmarkKit
import Foundation
import Synchronization

/// Finds the smallest tasks that still keep the processors busy with themselves (METG; Slaughter
/// and others, *Task Bench*, 2020).
///
/// Tasks of one duration run in a pattern; the efficiency is the time that they would take one
/// after the other, divided by the time that all processors spent. Building the tasks counts as
/// spent.
struct EfficiencySweep: Sendable {
  enum Pattern: String, CaseIterable, Codable, Sendable {
    /// Nothing waits; tasks are added one by one.
    case trivial
    /// A task waits for three neighbours in the step before; one batch.
    case stencil
    /// A task waits for three random tasks of the step before; one batch.
    case random

    /// Cells in a step, so that steps have several tasks for each processor.
    static let width = 16

    func job(_ count: Int) -> Job {
      switch self {
      case .trivial:
        return Job(graph: .independent(count), handover: .oneByOne, body: .spin)
      case .stencil:
        let graph = TaskGraph.steps(count, width: Self.width) { [$0 - 1, $0, $0 + 1] }
        return Job(graph: graph, body: .spin)
      case .random:
        var generator = SplitMix64(seed: 7)
        let graph = TaskGraph.steps(count, width: Self.width) { _ in
          (0..<3).map { _ in Int.random(in: 0..<Self.width, using: &generator) }
        }
        return Job(graph: graph, body: .spin)
      }
    }
  }

  let contestants: [any Contestant]
  let processors: Int
  /// Durations of tasks in seconds.
  let granularities: [Double]
  /// The work in a run, in seconds of one processor.
  let work: Double
  let repetitions: Int
  let cutoff: Double
  let progress: Progress

  func measure(_ pattern: Pattern) throws -> EfficiencyReport {
    var report = EfficiencyReport(pattern: pattern)
    var isOut: Set<String> = []
    // From coarse to fine, so that who is at the end of his tether can be left out.
    for granularity in granularities.sorted(by: >) {
      progress.show("METG, \(pattern.rawValue), \(Quantity.time(granularity))")
      let count = min(50_000, max(32 * Pattern.width, Int(work / granularity)))
      let steps = Kernel.steps(lasting: granularity)
      let job = pattern.job(count)
      var lanes = contestants.filter { !isOut.contains($0.name) && $0.objection(to: job) == nil }
        .map { Lane($0, job) }
      var point = EfficiencyReport.Point(tasks: count)
      guard let first = lanes.first else { break }
      if lanes.count == 1 { lanes.append(first) }
      for other in lanes.dropFirst() {
        var pairs: [(subject: Double, reference: Double)] = []
        for repetition in 0..<repetitions {
          var samples: [String: Sample] = [:]
          let serial = serialTime(steps: steps, count: count)
          Kernel.steps.store(steps, ordering: .releasing)
          for lane in repetition.isMultiple(of: 2) ? [first, other] : [other, first] {
            samples[lane.name] = try lane.measure()
          }
          point.granularities.append(serial.cpu / Double(count))
          for (name, sample) in samples {
            let ideal = serial.wall / Double(processors)
            point.add(name, ideal / sample.wall, built: ideal / sample.phases.run)
          }
          if let own = samples[first.name], let its = samples[other.name] {
            pairs.append((own.wall, its.wall))
            if its.wall > cutoff { isOut.insert(other.name) }
          }
        }
        guard other.name != first.name else { continue }
        point.ratios[other.name] = RatioSummary(pairs)
        if let reached = point.efficiency[other.name], reached < 0.2,
          other.name != ContestantName.dispatch.title
        {
          isOut.insert(other.name)
        }
      }
      report.points.append(point)
    }
    report.points.reverse()
    return report
  }

  /// The time of all tasks one after the other, from a part of them that takes 4 ms.
  private func serialTime(steps: Int, count: Int) -> (wall: Double, cpu: Double) {
    let part = min(count, max(1, Int(0.004 * 1e9) / max(steps, 1)))
    let time = Kernel.serialTime(steps: steps, calls: part)
    let factor = Double(count) / Double(part)
    return (time.wall * factor, time.cpu * factor)
  }
}

/// Efficiencies of one pattern.
struct EfficiencyReport: Codable, Sendable {
  struct Point: Codable, Sendable {
    var tasks: Int
    /// How long a task took a processor alone, in seconds, each time.
    var granularities: [Double] = []
    private var efficiencies: [String: [Double]] = [:]
    private var efficienciesWhenBuilt: [String: [Double]] = [:]
    /// Ours to others, in time.
    var ratios: [String: RatioSummary] = [:]

    init(tasks: Int) { self.tasks = tasks }

    /// The duration of an undisturbed task.
    var granularity: Double { granularities.min() ?? 0 }
    var efficiency: [String: Double] { efficiencies.compactMapValues { Statistics.median($0) } }
    /// The same, when neither building nor releasing the tasks counts.
    var efficiencyWhenBuilt: [String: Double] {
      efficienciesWhenBuilt.compactMapValues { Statistics.median($0) }
    }

    mutating func add(_ name: String, _ efficiency: Double, built: Double) {
      efficiencies[name, default: []].append(efficiency)
      efficienciesWhenBuilt[name, default: []].append(built)
    }
  }

  var pattern: EfficiencySweep.Pattern
  var points: [Point] = []

  init(pattern: EfficiencySweep.Pattern) { self.pattern = pattern }

  func curve(_ name: String, whenBuilt: Bool = false) -> EfficiencyCurve {
    EfficiencyCurve(
      points.compactMap { point in
        (whenBuilt ? point.efficiencyWhenBuilt : point.efficiency)[name].map {
          EfficiencyCurve.Point(granularity: point.granularity, efficiency: $0)
        }
      }
    )
  }
}
