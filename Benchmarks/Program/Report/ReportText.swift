import BenchmarkKit
import Foundation

/// A report as tables for a terminal.
struct ReportText {
  let report: Report
  let style: Style
  var lines: [String] = []

  init(_ report: Report, style: Style) {
    self.report = report
    self.style = style
  }

  static func make(_ report: Report, style: Style) -> String {
    var text = ReportText(report, style: style)
    text.addMachine()
    for workload in report.workloads { text.add(workload) }
    for sweep in report.efficiency { text.add(sweep) }
    text.addMemory()
    text.addBudgets()
    text.addNotes()
    return text.lines.joined(separator: "\n") + "\n"
  }

  private mutating func addMachine() {
    let machine = report.machine
    lines.append(
      "\(machine.processor), \(machine.processors) processors, \(machine.system), "
        + machine.date.formatted(.iso8601)
    )
    let speedup = Quantity.decimal(report.cores.speedup, places: 2)
    let found =
      "\(report.cores.processors) spinning threads compute \(speedup) times as much as one"
    if report.cores.isTrustworthy {
      lines.append("\(found): the processors are there.")
    } else {
      lines.append(style.bad("\(found):"))
      lines.append(
        style.bad("the machine is busy or shared, so don't trust what runs in parallel.")
      )
    }
    let explanation = [
      "Times are minima per operation. Behind × stands the median of ratios of runs measured back",
      "to back: ours to the column's, or a feature's to the first column's. CPU, sleeps (voluntary",
      "context switches) and phases (build + run + release) are those of the last size.",
    ]
    lines += explanation.map { style.faint($0) }
  }

  private mutating func add(_ workload: WorkloadReport) {
    let names = workload.laneNames.filter { name in
      workload.sizes.contains { size in size.lanes.contains { $0.name == name } }
    }
    lines += ["", style.bold(workload.name) + ": \(workload.title)"]
    guard !names.isEmpty else { return addSkipped(workload) }
    var table = TextTable()
    table.add([""] + names)
    for size in workload.sizes {
      table.add([Quantity.count(size.size)] + names.map { cell($0, size) })
    }
    if !workload.exponents.isEmpty {
      table.add(
        ["exponent"]
          + names.map { workload.exponents[$0].map { Quantity.decimal($0, places: 2) } ?? "" }
      )
    }
    if let last = workload.sizes.last {
      let lanes = names.map { name in last.lanes.first { $0.name == name } }
      table.add(["CPU"] + zip(names, lanes).map { $1 == nil ? "" : cpuCell($0, last) })
      table.add(["sleeps"] + lanes.map { $0.map { sleeps($0) } ?? "" })
      if lanes.contains(where: { $0.map { $0.build > 0 } ?? false }) {
        table.add(["phases"] + lanes.map { $0.map { phases($0) } ?? "" })
      }
    }
    lines += table.lines(indent: 2)
    addSkipped(workload)
  }

  private func cell(_ name: String, _ size: SizeReport) -> String {
    guard let lane = size.lanes.first(where: { $0.name == name }) else { return "–" }
    return Quantity.time(lane.minimum) + times(ratio(name, size)?.summary)
  }

  private func cpuCell(_ name: String, _ size: SizeReport) -> String {
    guard let lane = size.lanes.first(where: { $0.name == name }) else { return "" }
    return Quantity.time(lane.cpu) + times(ratio(name, size)?.cpu)
  }

  private func times(_ summary: RatioSummary?) -> String {
    summary.map { "  ×\(Quantity.ratio($0.median))" } ?? ""
  }

  /// The ratio that stands in the column of a lane: its own to the first lane's or the reverse.
  private func ratio(_ name: String, _ size: SizeReport) -> RatioReport? {
    guard let first = size.lanes.first?.name else { return nil }
    return size.ratios.first {
      ($0.reference == name && $0.subject == first) || ($0.subject == name && $0.reference == first)
    }
  }

  /// How often a thread slept, per operation.
  private func sleeps(_ lane: LaneReport) -> String {
    lane.voluntarySwitches < 0.000_05 ? "0" : Quantity.ratio(lane.voluntarySwitches)
  }

  private func phases(_ lane: LaneReport) -> String {
    lane.build > 0
      ? [lane.build, lane.run, lane.release].map { Quantity.time($0) }.joined(separator: " + ")
      : ""
  }

  /// One line for each lane that was skipped, with the first of its reasons.
  private mutating func addSkipped(_ workload: WorkloadReport) {
    if !workload.sizesWithoutTime.isEmpty {
      let sizes = workload.sizesWithoutTime.map { Quantity.count($0) }.joined(separator: ", ")
      lines.append(style.faint("  no time was left for \(sizes) operations; see --time-limit"))
    }
    for name in workload.laneNames {
      let skipped = workload.sizes.compactMap { size in
        size.skipped.first { $0.lane == name }.map { (size: size.size, reason: $0.reason) }
      }
      guard let first = skipped.first else { continue }
      let place =
        skipped.count == workload.sizes.count
        ? "" : " from \(Quantity.count(first.size)) operations on"
      lines.append(style.faint("  \(name) was skipped\(place): \(first.reason)"))
    }
  }
}
