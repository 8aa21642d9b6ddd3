import BenchmarkKit

extension ReportText {
  mutating func add(_ sweep: EfficiencyReport) {
    let names = sweep.points.flatMap(\.efficiency.keys)
    let ordered = ContestantName.allCases.map(\.title).filter { names.contains($0) }
    lines += [
      "",
      style.bold("METG \(sweep.pattern.rawValue)")
        + ": efficiency of all processors, by how long a task takes",
    ]
    var table = TextTable()
    table.add([""] + ordered)
    for point in sweep.points {
      table.add(
        [Quantity.time(point.granularity)]
          + ordered.map { name in
            guard let efficiency = point.efficiency[name] else { return "–" }
            let ratio = point.ratios[name].map { "  ×\(Quantity.ratio($0.median))" } ?? ""
            return "\(Int((efficiency * 100).rounded())) %\(ratio)"
          }
      )
    }
    table.add(["50 %"] + ordered.map { sweep.curve($0).minimumGranularity().text })
    table.add(
      ["50 %, built before"]
        + ordered.map { sweep.curve($0, whenBuilt: true).minimumGranularity().text }
    )
    lines += table.lines(indent: 2)
  }

  mutating func addMemory() {
    guard !report.memory.isEmpty else { return }
    lines += ["", style.bold("memory") + ": bytes per operation, by the growth of a fresh process"]
    var table = TextTable()
    table.add([""] + MemoryProbe.State.allCases.map(\.rawValue))
    for kind in MemoryProbe.Kind.allCases {
      let found = report.memory.filter { $0.kind == kind }
      guard !found.isEmpty else { continue }
      table.add(
        [kind.title]
          + MemoryProbe.State.allCases.map { state in
            found.first { $0.state == state }.map { "\(Int($0.bytes.rounded()))" } ?? "–"
          }
      )
    }
    lines += table.lines(indent: 2)
  }

  mutating func addBudgets() {
    guard !report.budgets.isEmpty else { return }
    lines += ["", style.bold("budgets")]
    var table = TextTable([.left, .left, .left, .left])
    let absent = report.budgets.count { $0.isAbsent }
    for budget in report.budgets where !budget.isAbsent {
      let verdict =
        switch budget.verdict {
        case .holds: "holds"
        case .missed: "MISSED"
        case .notMeasured: "–"
        }
      table.add([verdict, budget.what, budget.limit, budget.measured])
    }
    // Padding is counted before colours are added.
    lines += table.lines(indent: 2).map { line in
      if line.hasPrefix("  holds") { return style.good("  holds") + line.dropFirst(7) }
      if line.hasPrefix("  MISSED") { return style.bad("  MISSED") + line.dropFirst(8) }
      return line
    }
    if absent > 0 {
      lines.append(style.faint("  \(absent) more budgets need what was not measured in this run"))
    }
  }

  mutating func addNotes() {
    if !report.notes.isEmpty { lines.append("") }
    lines += report.notes
    lines.append(style.faint("measured in \(Int(report.seconds.rounded())) s"))
  }
}
