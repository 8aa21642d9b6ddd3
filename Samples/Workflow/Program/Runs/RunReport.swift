import TerminalSupport
import WorkflowRunner

/// What a run came to, for people: counts, failures with their last words, and what to do next.
struct RunReport {
  /// A step that failed, and what it said last.
  struct Failure: Sendable, Equatable {
    var step: String
    var logFile: String
    var lastLines: [String]
    /// Whether its command ran at all.
    var hasRun = true
    /// The first line of its command; nil for one that had the terminal, of which nothing is kept.
    var command: String? = ""
  }

  var workflow: String
  var run: String
  var end: RunEnd
  /// In the order in which they failed.
  var failures: [Failure]
  /// What people have to add to commands so that they find the run.
  var place = ""
  /// Whether commands find the run at all: a step, or somebody else, may have removed its folder.
  var isFolderThere = true

  /// How many failed steps are shown with their last lines.
  static let shownFailures = 5
  /// How many lines of a log are shown.
  static let shownLines = 5

  var lines: [StyledLine] {
    var lines = [headline]
    // A step that failed by itself has its reason above its last lines.
    if !end.failures.isEmpty {
      lines.append(StyledLine())
      lines += end.failures.split(separator: "\n", omittingEmptySubsequences: true)
        .prefix(40).map { StyledLine("  \($0)") }
    }
    let failures = failures.filter(\.hasRun)
    for failure in failures.prefix(Self.shownFailures) {
      lines.append(StyledLine())
      if failure.lastLines.isEmpty {
        guard let command = failure.command else {
          lines.append(StyledLine("“\(failure.step)” had the terminal; what it printed isn't kept"))
          continue
        }
        lines.append(
          StyledLine("“\(failure.step)” printed nothing")
            + StyledLine(command.isEmpty ? "" : ": \(command)", .faint)
        )
      } else {
        lines.append(StyledLine("“\(failure.step)” said last") + StyledLine(":"))
        lines += failure.lastLines.suffix(Self.shownLines).map {
          StyledLine("  │ ", .faint) + StyledLine($0.withoutEscapeSequences)
        }
        lines.append(StyledLine("  in \(failure.logFile)", .faint))
      }
    }
    if failures.count > Self.shownFailures {
      let count = (failures.count - Self.shownFailures).grouped
      lines += [StyledLine(), StyledLine("… and \(count) more failed")]
    }
    return lines + next
  }

  private var state: RunRecord.State { RunRecord.state(of: end) }

  private var headline: StyledLine {
    let sign: StyledLine
    let verb: String
    switch state {
    case .failed: (sign, verb) = (StyledLine("✗ ", .red), "failed")
    case .cancelled: (sign, verb) = (StyledLine("⊘ ", .yellow), "was cancelled")
    default: (sign, verb) = (StyledLine("✓ ", .green), "succeeded")
    }
    let counts = [
      (end.succeeded, "succeeded"), (end.failed, "failed"), (end.skipped, "skipped"),
      (end.cancelled, "cancelled"), (end.undone ?? 0, "undone"),
    ]
    .filter { $0.0 > 0 }.map { "\($0.0.grouped) \($0.1)" }.joined(separator: ", ")
    return sign + StyledLine(workflow, .bold)
      + StyledLine(" \(verb) after \(end.duration.readable)")
      + StyledLine(counts.isEmpty ? "" : ": \(counts)")
  }

  private var next: [StyledLine] {
    if state == .succeeded || !isFolderThere { return [] }
    // Not “last”: another run may have begun in the meantime.
    let run = run.shellQuoted
    var commands = [("workflow resume \(run)\(place)", "run what isn't done")]
    if let failed = failures.first {
      let step = failed.step.shellQuoted
      if failed.hasRun, !failed.lastLines.isEmpty {
        commands.append(("workflow log \(run) \(step)\(place)", "all that it printed"))
      }
      commands.append(("workflow explain \(run) \(step)\(place)", "why it failed"))
    }
    let width = commands.map(\.0.columnCount).max() ?? 0
    return [StyledLine(), StyledLine("next:")]
      + commands.map {
        StyledLine("  \($0.0.padded(toColumns: width))") + StyledLine("  # \($0.1)", .faint)
      }
  }
}

extension String {
  /// The text as one word of a shell.
  var shellQuoted: String {
    let safe = "@%+=:,./-_"
    if !isEmpty, allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) || safe.contains($0) }) {
      return self
    }
    return ShellQuoting.word(self)
  }
}
