import TerminalSupport
import WorkflowDocument

/// What would run, in words: the steps in an order in which they could run one by one.
struct DryRun {
  let workflow: Workflow

  init(_ workflow: Workflow) { self.workflow = workflow }

  var lines: [StyledLine] {
    let steps = StepPlan.order(workflow)
    let nameWidth = min(steps.map(\.id.columnCount).max() ?? 0, 30)
    var lines = [
      StyledLine(workflow.name, .bold)
        + StyledLine(": \(steps.count.counted("step")) would run, those that wait after the others")
    ]
    for step in steps {
      var line = StyledLine("  \(step.id.padded(toColumns: nameWidth))", .bold)
      line.add("  \(step.command.readable)")
      let notes = notes(step)
      if !notes.isEmpty { line.add("  # \(notes.joined(separator: "; "))", .faint) }
      lines.append(line)
    }
    return lines
  }

  private func notes(_ step: Step) -> [String] {
    var notes: [String] = []
    if !step.needs.isEmpty {
      let more = step.needs.count > 4 ? ", …" : ""
      notes.append("needs \(step.needs.prefix(4).joined(separator: ", "))\(more)")
    }
    if !step.when.isEmpty { notes.append("conditional") }
    if let attempts = step.retry?.attempts, attempts > 1 { notes.append("\(attempts) attempts") }
    if let timeout = step.timeout { notes.append("at most \(timeout.readable)") }
    notes += step.exclusive.map { "alone with \($0)" }
    return notes
  }
}

extension Command {
  /// The first line of the command, with its places as the file has them.
  var readable: String {
    if case .arguments(let templates) = self {
      return templates.map(\.text.shellQuoted).joined(separator: " ")
    }
    let lines = text.split(separator: "\n")
    return "\(lines.first ?? "")\(lines.count > 1 ? " …" : "")"
  }
}
