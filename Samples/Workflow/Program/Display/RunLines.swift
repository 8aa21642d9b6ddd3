import TerminalSupport
import WorkflowDocument
import WorkflowRunner

/// What stays on the terminal, or in a file, of an event: no line, one, or some.
struct RunLines: Sendable {
  /// How much is said.
  enum Detail: Sendable {
    /// What ended; a live display shows the rest.
    case ends
    /// Starts and what steps print, too.
    case everything
    /// Failures only.
    case failures
  }

  let detail: Detail
  /// How many were finished before, until that has been said.
  private var doneBefore = 0

  init(_ detail: Detail) { self.detail = detail }

  mutating func lines(of event: RunEvent) -> [StyledLine] {
    if case .ended(_, let end) = event.kind, end.isFromJournal {
      doneBefore += 1
      return []
    }
    let own = ownLines(of: event)
    // Those that have no line of their own come between.
    if own.isEmpty || doneBefore == 0 || detail == .failures { return own }
    let count = doneBefore
    doneBefore = 0
    let text = "\(count.counted("step")) \(count == 1 ? "was" : "were") done before"
    return [StyledLine("↷ ", .faint) + StyledLine(text)] + own
  }

  /// What stands before what a step prints that has the terminal.
  static func lent(to step: String) -> StyledLine {
    StyledLine("▸ ", .cyan) + StyledLine("\(step) has the terminal:")
  }

  private func ownLines(of event: RunEvent) -> [StyledLine] {
    switch event.kind {
    case .runStarted(let run, let workflow, let steps, let isResumed):
      if detail == .failures { return [] }
      let verb = isResumed ? "continues" : "begins"
      return [
        StyledLine(workflow, .bold)
          + StyledLine(": \(steps.counted("step")), \(isResumed ? "" : "run ")\(run)")
          + StyledLine(isResumed ? " \(verb)" : "")
      ]
    // Of the waits only one that could take long without a reason that is seen.
    case .waiting(let step, let cause) where cause.hasPrefix(LocalEngine.earlierProcess):
      let line = StyledLine("… ", .faint) + StyledLine("\(step) waits for \(cause)")
      return detail == .failures ? [] : [line]
    case .waiting: return []
    case .started(let step, let attempt, let node):
      if detail != .everything { return [] }
      var line = StyledLine("▸ ", .cyan) + StyledLine(step)
      if attempt > 1 { line.add("  attempt \(attempt)", .yellow) }
      if let node { line.add("  on \(node)", .faint) }
      return [line]
    case .printed(let step, let text):
      if detail != .everything { return [] }
      return [StyledLine("\(step) │ ", .faint) + StyledLine(text.withoutEscapeSequences)]
    case .notice(let step, let text):
      return [StyledLine("⚠ ", .yellow) + StyledLine("\(step)  \(text)")]
    case .retrying(let step, let attempt, let delay, let reason):
      if detail == .failures { return [] }
      return [
        StyledLine("↻ ", .yellow)
          + StyledLine("\(step)  attempt \(attempt): \(reason); again in \(delay.readable)")
      ]
    case .ended(let step, let end): return line(of: step, end).map { [$0] } ?? []
    case .rollingBack(let step):
      return detail == .everything ? [StyledLine("↶ ", .yellow) + StyledLine("undoes \(step)")] : []
    case .rolledBack(let step, let error):
      if let error {
        return [StyledLine("✗ ", .red) + StyledLine("\(step) could not be undone: \(error)")]
      }
      return detail == .failures ? [] : [StyledLine("↶ ", .yellow) + StyledLine("\(step) undone")]
    // What cancels the run says so, in better words.
    case .cancelling, .runEnded: return []
    }
  }

  private func line(of step: String, _ end: StepEnd) -> StyledLine? {
    var line: StyledLine
    switch end.outcome {
    case .succeeded:
      if detail == .failures { return nil }
      line = StyledLine("✓ ", .green) + StyledLine(step)
    case .failed:
      line = StyledLine("✗ ", .red) + StyledLine(step)
      if let reason = end.reason { line.add("  \(reason)", .red) }
    case .skipped:
      if detail == .failures { return nil }
      line = StyledLine("↷ ", .cyan) + StyledLine(step)
      line.add("  skipped\(end.reason.map { ": \($0)" } ?? "")", .faint)
      return line
    case .cancelled:
      // Those that never began are counted in the summary: there may be thousands.
      if detail == .failures || end.attempts == 0 { return nil }
      line = StyledLine("⊘ ", .yellow) + StyledLine(step)
      line.add("  \(end.reason ?? "cancelled")", .faint)
    }
    if end.attempts > 0 { line.add("  \(end.duration.readable)", .faint) }
    // To begin takes some time in any case.
    if let queued = end.queued, queued >= .seconds(1) {
      line.add("  after \(queued.readable) in the queue", .faint)
    }
    // Some reasons say so themselves.
    if end.attempts > 1, end.reason?.contains("attempts") != true {
      line.add("  \(end.attempts) attempts", .yellow)
    }
    if let node = end.node { line.add("  on \(node)", .faint) }
    return line
  }
}
