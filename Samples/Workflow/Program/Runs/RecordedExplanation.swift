import WorkflowDocument
import WorkflowRunner

/// Why a step ended as it did, or didn't run, from what a run's folder keeps.
struct RecordedExplanation {
  private var ends: [String: StepEnd] = [:]
  private var starts: [String: Int] = [:]
  private var waits: [String: String] = [:]
  /// The last attempts that failed and were to be followed by another one.
  private var pauses: [String: Int] = [:]
  private var retries: [String: [String]] = [:]
  /// What is known of the rollback of a step since it succeeded the last time.
  private var rollbacks: [String: String] = [:]
  private var needs: [String: [String]] = [:]
  private let chosen: (names: [String], steps: Set<String>)?
  private var cancelled: String?

  /// Reads events.
  ///
  /// - Parameters:
  ///   - events: What happened.
  ///   - workflow: What was run; nil if that isn't known any more.
  ///   - chosen: The steps that were chosen with `--only`, if that was so.
  init(
    _ events: [RunEvent],
    workflow: Workflow?,
    chosen: (names: [String], steps: Set<String>)? = nil
  ) {
    self.chosen = chosen
    for step in workflow?.steps ?? [] { needs[step.id] = step.needs }
    for event in events {
      switch event.kind {
      case .runStarted:
        for (step, attempt) in starts where ends[step] == nil {
          retries[step, default: []].append("attempt \(attempt): the program ended")
        }
        (cancelled, starts, waits, pauses) = (nil, [:], [:], [:])
      case .waiting(let step, let cause): waits[step] = cause
      case .started(let step, let attempt, _):
        starts[step] = attempt
        pauses[step] = nil
        ends[step] = nil
        rollbacks[step] = nil
      case .printed, .notice: break
      case .rollingBack(let step): rollbacks[step] = "was being undone when the program ended"
      case .retrying(let step, let attempt, let delay, let reason):
        (starts[step], pauses[step], waits[step]) = (nil, attempt, nil)
        let pause = delay > .zero ? "; again in \(delay.readable)" : ""
        retries[step, default: []].append("attempt \(attempt): \(reason)\(pause)")
      case .ended(let step, let end): ends[step] = end
      case .rolledBack(let step, let error):
        rollbacks[step] = error.map { "could not be undone: \($0)" } ?? "undone"
      case .cancelling(let reason): cancelled = reason
      case .runEnded: break
      }
    }
  }

  /// The steps of which something is known.
  var steps: [String] { Set(needs.keys).union(ends.keys).union(starts.keys).sorted() }

  /// Some lines.
  ///
  /// - Returns: nil if there is no such step.
  func text(of step: String) -> String? {
    guard needs[step] != nil || ends[step] != nil || starts[step] != nil else { return nil }
    var lines = ["“\(step)” \(predicate(step))"]
    lines += retries[step, default: []].map { "  \($0)" }
    if let rollback = rollbacks[step] { lines.append("  \(rollback)") }
    if let end = ends[step], end.attempts > 0 {
      for (name, value) in end.outputs.sorted(by: { $0.key < $1.key }) {
        lines.append("  gave \(name)=\(value)")
      }
    } else {
      lines += roots(of: step)
    }
    return lines.joined(separator: "\n")
  }

  /// How a step ended, to go on after its name.
  private func predicate(_ step: String) -> String {
    guard let end = ends[step] else {
      if let attempt = starts[step] {
        return "was executing (attempt \(attempt)) when the program ended"
      }
      if let attempt = pauses[step] {
        let cause = waits[step].map { " (for \($0))" } ?? ""
        return "waited for attempt \(attempt + 1)\(cause) when the program ended"
      }
      if let chosen, !chosen.steps.contains(step) {
        let names = chosen.names.map(\.shellQuoted).joined(separator: " ")
        return "was not chosen: the run is one with --only \(names)"
      }
      if let cause = waits[step] { return "waited for \(cause) when the program ended" }
      return "hadn't begun when the program ended"
    }
    let reason = end.reason.map { ": \($0)" } ?? ""
    switch end.outcome {
    case .succeeded:
      let before = end.isFromJournal ? " before the run was resumed," : ""
      let attempts = end.attempts > 1 ? ", at attempt \(end.attempts)" : ""
      let node = end.node.map { " on \($0)" } ?? ""
      return "succeeded\(before) after \(end.duration.readable)\(attempts)\(node)"
    case .failed:
      return end.attempts == 0 ? "failed before it began\(reason)" : "failed\(reason)"
    case .skipped: return "was skipped\(reason)"
    // The reason says whether it had begun.
    case .cancelled: return "was \(end.reason ?? "cancelled")"
    }
  }

  /// The steps behind it that failed, nearest first, each with its way.
  private func roots(of step: String) -> [String] {
    var (seen, queue): (Set<String>, [(String, Int)]) = ([step], [(step, 0)])
    var lines: [String] = []
    var next = 0
    while next < queue.count, lines.count < 20 {
      let (name, depth) = queue[next]
      next += 1
      for need in needs[name, default: []] where seen.insert(need).inserted {
        let isGood = ends[need].map { [.succeeded, .skipped].contains($0.outcome) } ?? false
        if isGood { continue }
        let indent = String(repeating: "  ", count: min(depth, 8) + 1)
        lines.append("\(indent)needs “\(need)”, which \(predicate(need))")
        queue.append((need, depth + 1))
      }
    }
    if lines.isEmpty, let cancelled { lines.append("  the run was ended: \(cancelled)") }
    return lines
  }
}
