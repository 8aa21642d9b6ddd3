import AdvancedOperations
import AdvancedOperationsVisualization

/// How long an operation has waited before it executed, and for what.
struct OperationWaits: Equatable, Sendable {
  /// What an operation can wait for.
  enum Cause: String, CaseIterable, Sendable {
    /// For what it depends on.
    case dependencies
    /// For answers: of its conditions, such as the provider's circuit, and of its journal.
    case conditions
    /// For its turn: a claim, a start under a rate, a slot.
    case turn
  }

  private(set) var durations: [(cause: Cause, duration: Duration)] = []

  /// Reads what a timeline has of the last operation of a name; nil when it has none.
  init?(of name: String, in timeline: OperationTimeline) {
    guard let span = timeline.spans.last(where: { $0.name == name }) else { return nil }
    guard let enqueued = span.enqueued, let end = span.started ?? span.ended else { return }
    // An operation without conditions isn't seen to become ready: it does when the last one has
    // ended that it depends on.
    let depended = span.dependencies.compactMap { timeline.spans[$0].ended }.max() ?? enqueued
    let evaluating = span.evaluationStarted ?? span.ready ?? min(max(depended, enqueued), end)
    let ready = span.ready ?? evaluating
    add(.dependencies, evaluating - enqueued)
    add(.conditions, ready - evaluating)
    add(.turn, end - ready)
  }

  private mutating func add(_ cause: Cause, _ duration: Duration) {
    if duration > .zero { durations.append((cause, duration)) }
  }

  static func == (a: Self, b: Self) -> Bool {
    a.durations.elementsEqual(b.durations) { $0 == $1 }
  }
}
