import BenchmarkKit
import Foundation

/// Measures what was chosen.
struct BenchmarkRun {
  let choice: ChoiceOptions
  let measuring: MeasuringOptions
  let contestants: [any Contestant]
  let progress: Progress

  var processors: Int { ProcessInfo.processInfo.activeProcessorCount }

  func isWanted(_ name: String) -> Bool {
    Catalogue.isWanted(name, choice.workloadNames)
  }

  func makeWorkloads() throws -> (workloads: [any Workload], notes: [String]) {
    var catalogue = Catalogue(
      conditions: choice.conditions,
      observers: choice.observers,
      isSmallest: measuring.smallest
    )
    var notes: [String] = []
    switch try choice.makeWorkflows() {
    case .success(let workflows): catalogue.workflows = workflows
    case .failure(let absence): notes.append(absence.description)
    }
    return (catalogue.workloads.filter { isWanted($0.name) }, notes)
  }

  func makeSweep(
    _ granularities: [Double],
    repetitions: Int,
    work: Double
  ) -> EfficiencySweep {
    EfficiencySweep(
      contestants: contestants,
      processors: processors,
      granularities: granularities,
      work: work,
      repetitions: repetitions,
      cutoff: measuring.cutoff,
      progress: progress
    )
  }

  /// Measures everything and judges it.
  func measure() throws -> Report {
    let begun = ContinuousClock.now
    progress.show("probing the processors")
    var report = Report(cores: CoreProbe.measure())
    let (workloads, notes) = try makeWorkloads()
    report.notes = notes
    // What has sizes of its own comes first, because the others make do with the time that is left.
    try measureProbes(into: &report)
    let order = workloads.filter { $0.ownSizes != nil } + workloads.filter { $0.ownSizes == nil }
    for (index, workload) in order.enumerated() {
      let left = max(0, timeLimit - (ContinuousClock.now - begun).seconds)
      let share = workload.weight / order[index...].reduce(0) { $0 + $1.weight }
      let measured = try makeSession(for: workload).measure(
        workload,
        sizes: measuring.sizes(for: workload),
        within: workload.ownSizes == nil ? left * share : .infinity
      )
      // Without ours, some have nothing to measure.
      let isEmpty = measured.sizes.isEmpty && measured.sizesWithoutTime.isEmpty
      if !isEmpty { report.workloads.append(measured) }
    }
    let places = Dictionary(
      uniqueKeysWithValues: workloads.enumerated().map { ($1.name, $0) }
    )
    report.workloads.sort { places[$0.name, default: 0] < places[$1.name, default: 0] }
    progress.show("probing the processors again")
    report.cores.speedup = min(report.cores.speedup, CoreProbe.measure().speedup)
    progress.clear()
    report.budgets = Budgets(report).all
    report.seconds = (ContinuousClock.now - begun).seconds
    return report
  }

  /// In seconds; whoever chooses something gets it measured.
  private var timeLimit: Double {
    measuring.timeLimit
      ?? (choice.workloadNames.isEmpty && measuring.sizes == nil ? 280 : .infinity)
  }

  private func makeSession(for workload: any Workload) -> Session {
    Session(
      limits: .init(
        repetitions: measuring.repetitions,
        secondsPerComparison: measuring.seconds,
        briefBelow: workload.ownSizes == nil && measuring.sizes == nil ? 10_000 : 0,
        cutoff: measuring.cutoff
      ),
      contestants: contestants,
      progress: progress
    )
  }

  private func measureProbes(into report: inout Report) throws {
    if isWanted(Catalogue.memory) {
      progress.show("memory")
      report.memory = MemoryProbe.all(
        count: 100_000,
        foundation: contestants.contains { $0 is FoundationQueue }
      )
    }
    if isWanted(Catalogue.smallStack) {
      progress.show("a small stack")
      report.smallStack = SmallStackProbe.measure(length: 1_000_000)
    }
    if isWanted(Catalogue.efficiency) {
      let sweep = makeSweep(
        [0.25, 0.5, 0.7, 1, 1.4, 2, 4, 8, 16, 64].map { $0 * 1e-6 },
        repetitions: min(3, measuring.repetitions),
        work: 0.012 * Double(processors)
      )
      report.efficiency = try EfficiencySweep.Pattern.allCases.map { try sweep.measure($0) }
    }
  }
}
