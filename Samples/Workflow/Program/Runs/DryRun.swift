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
        + StyledLine(
          ": \(steps.count.counted("step")), in an order in which they could run; conditions aren't evaluated"
        )
    ]
    let fields = StepFields(workflow)
    for step in steps.map({ $0.withMatrixValues.with(parameters: workflow.parameters) }) {
      var line = StyledLine("  \(step.id.padded(toColumns: nameWidth))", .bold)
      line.add("  \(step.command.readable)")
      let notes = notes(step, fields.fields(of: step))
      if !notes.isEmpty { line.add("  # \(notes.joined(separator: "; "))", .faint) }
      lines.append(line)
    }
    return lines
  }

  /// What holds for a step, as far as it isn't seen in its command.
  private func notes(_ step: Step, _ fields: [StepFields.Field]) -> [String] {
    var notes: [String] = []
    if !step.needs.isEmpty {
      let more = step.needs.count > 4 ? ", …" : ""
      notes.append("needs \(step.needs.prefix(4).joined(separator: ", "))\(more)")
    }
    func add(_ key: FileKeys.Step, _ words: String? = nil) {
      guard let field = fields.first(where: { $0.key == key }) else { return }
      notes.append("\(words ?? key.rawValue) \(field.text)")
    }
    add(.when)
    add(.require)
    if let attempts = step.retry?.attempts, attempts > 1 { notes.append("\(attempts) attempts") }
    if let total = step.retry?.total { notes.append("attempts for \(total.readable)") }
    if let timeout = step.timeout { notes.append("at most \(timeout.readable)") }
    notes += step.exclusive.map { "alone with \($0)" }
    add(.uses)
    add(.rate)
    add(.cwd, "in")
    add(.shell)
    if step.isInteractive { notes.append("has the terminal") }
    if let rollback = step.rollback { notes.append("undone by \(rollback.readable)") }
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
