import BenchmarkKit
import Foundation

extension Report {
  /// The picture of the report: costs over sizes, and over granularities.
  var chart: CostChart {
    let ours = ContestantName.ours.title
    let panels = workloads.compactMap { workload -> CostChart.Panel? in
      let names = workload.laneNames.filter { name in
        workload.sizes.contains { $0.lanes.contains { $0.name == name && $0.isDrawn } }
      }
      guard names.contains(ours), workload.sizes.count > 1 else { return nil }
      return CostChart.Panel(
        title: "\(workload.name), time per operation",
        lines: names.map { name in
          CostChart.Line(
            contestant: name,
            points: workload.sizes.compactMap { size in
              size.lanes.first { $0.name == name }.map { (Double(size.size), $0.median) }
            }
          )
        }
      )
    }
    return CostChart(
      title: "What an operation costs",
      subtitle: "\(machine.processor), \(machine.processors) processors, \(machine.system), "
        + "\(machine.date.formatted(.iso8601.year().month().day())); medians",
      panels: panels + efficiency.map { panel($0) }
    )
  }

  private func panel(_ sweep: EfficiencyReport) -> CostChart.Panel {
    let names = ContestantName.allCases.map(\.title).filter { name in
      sweep.points.contains { $0.efficiency[name] != nil }
    }
    return CostChart.Panel(
      title: "METG \(sweep.pattern.rawValue), overhead per task",
      axis: "time of a task",
      label: { Quantity.time($0).replacing(".00", with: "").replacing(".0", with: "") },
      lines: names.map { name in
        CostChart.Line(
          contestant: name,
          points: sweep.points.sorted { $0.granularity < $1.granularity }.compactMap { point in
            // What the processors spent on a task beyond the task itself.
            point.efficiency[name].flatMap { efficiency in
              efficiency < 1 ? (point.granularity, point.granularity * (1 / efficiency - 1)) : nil
            }
          }
        )
      }
    )
  }
}
