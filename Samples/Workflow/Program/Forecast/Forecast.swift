import AdvancedOperations
import AdvancedOperationsVisualization
import TerminalSupport
import WorkflowDocument

/// How long a workflow would take, by how long its steps take.
struct Forecast {
  let workflow: Workflow
  /// Of each step.
  let durations: [Duration]
  /// How many steps' durations come from earlier runs, from their commands, and from neither.
  let measured: Int
  let stated: Int
  let assumed: Int

  /// What counts where nothing is known at all.
  static let usualDuration = Duration.seconds(1)
  /// How many steps of the critical path are shown.
  static let shownPath = 12

  init(_ workflow: Workflow, known: [String: Duration]) {
    self.workflow = workflow
    let found = workflow.steps.map { StepPlan.duration(of: $0, known: known) }
    let sum = found.compactMap(\.self).reduce(.zero, +)
    let count = found.compactMap(\.self).count
    let mean = count > 0 ? sum / count : Self.usualDuration
    durations = found.map { $0 ?? mean }
    measured = workflow.steps.filter { known[$0.id] != nil }.count
    stated = count - measured
    assumed = found.count - count
  }

  func lines(workers: [Int]) -> [StyledLine] {
    guard let plan = StepPlan.plan(workflow, durations: durations) else { return [] }
    let steps = workflow.steps.count.counted("step")
    var lines = [
      StyledLine(workflow.name, .bold)
        + StyledLine(": \(steps), \(plan.work.readable) of work\(basis)"), StyledLine(),
    ]
    var table = Table(["workers", "makespan", "faster", "busy"].map { ($0, .right) })
    let alone = plan.work
    for count in workers {
      let duration = plan.schedule(workers: count).duration
      let (speedup, busy) =
        duration > .zero ? (alone / duration, alone / (duration * count)) : (1, 0)
      table.add([
        StyledLine(count.grouped, .bold), StyledLine(duration.readable),
        StyledLine("\(speedup.tenths) ×"), StyledLine("\(Int((busy * 100).rounded())) %"),
      ])
    }
    lines += table.lines(width: .max)
    let path = plan.criticalPath
    lines += [
      StyledLine(),
      StyledLine("critical path", .bold)
        + StyledLine(": \(plan.criticalDuration.readable), no number of workers is faster"),
    ]
    // What takes no time is on it by chance.
    let long = path.filter { durations[$0] > .zero }
    for step in long.prefix(Self.shownPath) {
      let name = workflow.steps[step].id
      lines.append(StyledLine("  \(durations[step].readable.aligned(to: 12))  \(name)"))
    }
    if long.count > Self.shownPath {
      let rest = long.dropFirst(Self.shownPath)
      let sum = rest.reduce(Duration.zero) { $0 + durations[$1] }
      lines.append(
        StyledLine("  \(sum.readable.aligned(to: 12))  … in \(rest.count.grouped) more", .faint)
      )
    }
    return lines
  }

  private var basis: String {
    var parts: [String] = []
    if measured > 0 { parts.append("\(measured.grouped) as measured") }
    if stated > 0 { parts.append("\(stated.grouped) as their commands sleep") }
    if assumed > 0 {
      parts.append("\(assumed.grouped) assumed\(measured + stated == 0 ? " to take 1 s" : "")")
    }
    return " (\(parts.joined(separator: ", ")))"
  }
}

extension Double {
  /// With one digit after the point.
  fileprivate var tenths: String {
    let tenths = Int((self * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}
