extension OperationTimeline {
  /// What an operation did before it executed.
  package struct Phase: Hashable {
    package enum Kind: String {
      case dependencies, conditions, turn
    }

    package let kind: Kind
    let begin: Duration
    let end: Duration

    package init(kind: Kind, begin: Duration, end: Duration) {
      self.kind = kind
      self.begin = begin
      self.end = end
    }
  }

  /// The times before executing that took any time, one after the other.
  package func phases(of index: Int) -> [Phase] {
    let span = spans[index]
    // After a manual start, conditions are evaluated immediately.
    guard let enqueued = span.enqueued ?? span.evaluating else { return [] }
    // One that was cancelled before it started waits for nothing from then on.
    let last = max(span.started ?? span.cancelled ?? span.ended ?? end, enqueued)
    func clamp(_ time: Duration) -> Duration { min(max(time, enqueued), last) }
    // There is no event for the end of the last dependency.
    let ends = span.dependencies.map { spans[$0].ended ?? end } + [span.unrecordedEnd ?? enqueued]
    let resolved = span.waitsForUnrecorded ? nil : ends.max().map(clamp)
    let ready: Duration
    let asked: Duration
    if let evaluating = span.evaluating {
      asked = clamp(evaluating)
      ready = max(clamp(span.ready ?? last), asked)
    } else {
      ready = span.ready.map(clamp) ?? resolved ?? last
      asked = ready
    }
    // A queue that is suspended, or has others to ask, doesn't ask at once.
    let freed = span.evaluating == nil ? asked : min(resolved ?? asked, asked)
    return [
      Phase(kind: .dependencies, begin: enqueued, end: freed),
      Phase(kind: .turn, begin: freed, end: asked),
      Phase(kind: .conditions, begin: asked, end: ready),
      Phase(kind: .turn, begin: ready, end: last),
    ].filter { $0.begin < $0.end }
  }
}
