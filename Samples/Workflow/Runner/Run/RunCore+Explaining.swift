import AdvancedOperations
import Synchronization
import WorkflowDocument

extension RunCore {
  /// Why a step isn't running, or how it ended.
  func explain(_ id: String) -> String? {
    guard let index = state.withLock({ $0.place(of: id) }) else { return nil }
    let known = state.withLock { $0.steps[index] }
    if let end = known.end {
      return RunWords.text(of: id, end) + (known.undoing.map(RunWords.text(of:)) ?? "")
    }
    if known.phase == .running, let begin = known.begin {
      let time = (environment.clock.now - (known.attempt.placed ?? begin)).words
      if let wait = known.wait { return "\(id) waits for \(wait)" }
      let attempt = known.attempts > 1 ? " (attempt \(known.attempts))" : ""
      if known.isBetweenAttempts { return RunWords.text(of: operations[index].explain()) }
      return "\(id) has been running for \(time)\(attempt)"
    }
    if current == nil { return "\(id) waits for the run to begin" }
    if let (step, wait) = state.withLock({ $0.leftover }) {
      if let wait = known.wait { return "\(id) waits for \(wait)" }
      return "\(id) waits for \(step)\n  \(step) waits for \(wait)"
    }
    return RunWords.text(of: operations[index].explain())
  }
}

extension RunWords {
  /// How a step ended, in one or a few lines.
  static func text(of id: String, _ end: StepEnd) -> String {
    var line = "\(id) \(end.outcome.words)"
    if end.outcome == .cancelled { line = id }
    if let reason = end.reason {
      line += end.outcome == .cancelled ? " was \(reason)" : ": \(reason)"
    } else if end.outcome == .cancelled {
      line += " was cancelled"
    }
    if end.attempts > 0 {
      line += ", after \(end.duration.words)"
      if end.attempts > 1, end.outcome == .succeeded { line += " and \(end.attempts) attempts" }
    }
    if let queued = end.queued { line += ", and \(queued.words) in the queue" }
    if let node = end.node { line += ", on \(node)" }
    if end.isFromJournal { line += " (in an earlier process of the run)" }
    let outputs = end.outputs.sorted { $0.key < $1.key }.map { "\n  \($0.key)=\($0.value)" }
    return line + outputs.joined()
  }

  /// What became of a step that had succeeded: one line more.
  static func text(of undoing: RunState.Undoing) -> String {
    switch undoing {
    case .begun: "\n  is being undone"
    case .done: "\n  was undone"
    case .failed(let reason): "\n  could not be undone: \(reason)"
    }
  }

  /// Why a step doesn't start: the step itself, and the way to what is at the root of it.
  static func text(of explanation: OperationExplanation) -> String {
    var lines: [String] = []
    if let first = explanation.path.first ?? explanation.causes.first {
      // Of several, all that keep the step itself.
      let causes = explanation.causes.filter { $0.name == first.name }
      let texts = (causes.isEmpty ? [first] : causes).map { text(of: $0) }
      lines.append("\(first.name) \(texts.joined(separator: "; "))")
    }
    let way = explanation.path.dropFirst()
    let (begin, end) = way.count > 10 ? (way.prefix(5), way.suffix(4)) : (way[...], [])
    lines += begin.map { "  \($0.name) \(text(of: $0))" }
    if !end.isEmpty {
      lines.append("  … \(way.count - 9) more …")
      lines += end.map { "  \($0.name) \(text(of: $0))" }
    }
    return lines.joined(separator: "\n")
  }

  /// What a step waits for, behind “waits for”.
  static func wait(_ cause: OperationExplanation.Cause) -> String {
    switch cause.kind {
    case .limit: "its turn: \(slots(cause))"
    default:
      cause.text.hasPrefix("waits for ") ? String(cause.text.dropFirst(10)) : cause.text
    }
  }

  private static func slots(_ cause: OperationExplanation.Cause) -> String {
    let names = cause.involved.prefix(4).compactMap(\.name).joined(separator: ", ")
    let rest = cause.involved.count > 4 ? " and \(cause.involved.count - 4) more" : ""
    if names.isEmpty { return "others run" }
    return "\(names)\(rest) \(cause.involved.count == 1 ? "runs" : "run")"
  }

  private static func text(of cause: OperationExplanation.Cause) -> String {
    switch cause.kind {
    case .limit: "waits for its turn: \(slots(cause))"
    case .executing: cause.duration.map { "has been running for \($0.words)" } ?? "is running"
    case .worker: "is about to start"
    case .group: "waits for the run to begin"
    default: cause.text
    }
  }
}
