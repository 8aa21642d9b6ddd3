public import AdvancedOperations

/// A value with the times at which operations waited, evaluated conditions and executed.
///
/// ```swift
/// let timeline = recorder.timeline
/// let names = timeline.criticalPath.map { timeline.spans[$0].name }
/// print("\(timeline.duration) for \(timeline.plan.work) of work, at least \(names)")
/// ```
///
/// The times are times of the operations' clock, as `OperationClock.now` returns them.
public struct OperationTimeline: Sendable {
  /// The times of one operation.
  public struct Span: Sendable {
    /// The operation's name, or its type.
    public var name: String
    /// The operation's tag; nil if it had none.
    public var tag: (any Hashable & Sendable)?
    /// The time at which a queue took the operation; nil if that wasn't recorded.
    public var enqueued: Duration?
    /// The time at which the operation began to evaluate conditions; nil if it had none.
    public var evaluationStarted: Duration?
    /// The time from which the operation waited only for a slot and claims; nil if it had no conditions.
    public var ready: Duration?
    /// The time at which the operation began to execute; nil if it hasn't.
    public var started: Duration?
    /// The times at which attempts failed and another attempt followed, in order.
    ///
    /// The next attempt began later, after the delay of the retry policy.
    public var retries: [Duration] = []
    /// The time at which the operation was cancelled; nil if it wasn't.
    public var cancelled: Duration?
    /// The time at which the end of the operation was decided; nil before.
    public var ended: Duration?
    /// The outcome of the operation; nil before its end.
    public var outcome: OperationOutcome?
    /// The closed gates and the conditions for which the operation waits, or the reason why its queue is
    /// suspended; nil if there are none.
    public var waitReason: String?
    /// The indices of the recorded operations that the operation depended on.
    public var dependencies: [Int]
    /// The index of the operation's group; nil if it isn't a child of a group.
    public var group: Int?
    /// Whether the operation depends on an unrecorded operation that hasn't finished.
    var waitsForUnrecorded = false
    /// The time at which the last unrecorded dependency finished.
    var unrecordedEnd: Duration?
    /// The names of the operation's claims.
    var claims: [String] = []
    /// Whether the operation had no conditions, so that it only looked up its value in the journal.
    var asksOnlyJournal = false
    /// The number of the attempt that the last of `retries` announced.
    private(set) var announcedAttempt = 1
    /// The time at which an attempt failed, if the announced next attempt didn't begin.
    private(set) var lastFailedAttempt: Duration?

    /// Notes that an attempt failed; the recorder may receive this event more than once.
    mutating func willRetry(asAttempt attempt: Int, at time: Duration) {
      guard attempt > announcedAttempt else { return }
      announcedAttempt = attempt
      retries.append(time)
    }

    /// Notes that the operation ended in an attempt, maybe before an announced attempt.
    mutating func endedInAttempt(_ attempt: Int) {
      guard attempt < announcedAttempt, !retries.isEmpty else { return }
      announcedAttempt = attempt
      lastFailedAttempt = retries.removeLast()
    }

    /// Notes that the operation has started, at the latest at its first recorded event.
    ///
    /// - Parameter time: The time of the start, if it is known.
    mutating func begunAtLatest(at time: Duration?) {
      if started == nil { started = time ?? retries.first ?? cancelled ?? ended }
    }

    /// The duration of executing; nil if the operation hasn't executed or hasn't ended.
    public var executionDuration: Duration? { ended.flatMap { executionDuration(until: $0) } }

    /// Returns the duration of executing, until now if the operation is executing; nil if it hasn't executed.
    func executionDuration(until now: Duration) -> Duration? {
      started.map { max((ended ?? now).saturatingSubtracting($0), .zero) }
    }
  }

  /// The operations in the order in which the recorder first observed them.
  ///
  /// To change the pictures, change a span. For example, add the machine that the operation ran on to its
  /// name, or set another outcome. Spans refer to each other by their indices.
  public var spans: [Span]
  /// The time at which the timeline was taken, or the time of the last event if all operations had ended.
  public let end: Duration
  /// The number of dependencies that aren't in the timeline.
  var unrecordedCount = 0

  /// The first time in the timeline.
  public var begin: Duration {
    spans.lazy.compactMap { span in
      span.enqueued ?? span.evaluationStarted ?? span.started ?? span.cancelled ?? span.ended
    }.min() ?? end
  }

  /// The time from the beginning of the timeline to its end.
  public var duration: Duration { max(end.saturatingSubtracting(begin), .zero) }

  /// A plan with the durations and dependencies, to calculate the effect of changes.
  ///
  /// Each piece of the plan is one operation. The number of the piece is the index of the operation in
  /// ``spans``. An executing operation counts as if it ended now, and an operation that never executed takes
  /// no time. A group takes no time itself. Its children begin after the dependencies of the group, and the
  /// group ends when its last child ends. The plan doesn't contain the evaluation of conditions, because the
  /// evaluation doesn't take a worker. ``criticalPath`` includes the evaluation.
  public var plan: OperationPlan {
    var predecessors = waitsBeforeStart
    addChildren(to: &predecessors)
    return OperationPlan(durations: durations, predecessors: predecessors)
  }
}

extension OperationTimeline {
  /// A phase of an operation before it executed.
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

  /// Returns the phases before executing that took any time, in order.
  package func phases(of index: Int) -> [Phase] {
    let span = spans[index]
    // After a manual start, conditions are evaluated immediately.
    guard let enqueued = span.enqueued ?? span.evaluationStarted else { return [] }
    // An operation that was cancelled before its start doesn't wait after the cancel.
    let last = max(span.started ?? span.cancelled ?? span.ended ?? end, enqueued)
    func clamp(_ time: Duration) -> Duration { min(max(time, enqueued), last) }
    // There is no event for the end of the last dependency.
    let ends = span.dependencies.map { spans[$0].ended ?? end } + [span.unrecordedEnd ?? enqueued]
    let resolved = span.waitsForUnrecorded ? nil : ends.max().map(clamp)
    let ready: Duration
    let asked: Duration
    if let evaluating = span.evaluationStarted {
      asked = clamp(evaluating)
      ready = max(clamp(span.ready ?? last), asked)
    } else {
      ready = span.ready.map(clamp) ?? resolved ?? last
      asked = ready
    }
    // A suspended or busy queue doesn't evaluate conditions immediately.
    let freed = span.evaluationStarted == nil ? asked : min(resolved ?? asked, asked)
    return [
      Phase(kind: .dependencies, begin: enqueued, end: freed),
      Phase(kind: .turn, begin: freed, end: asked),
      Phase(kind: .conditions, begin: asked, end: ready),
      Phase(kind: .turn, begin: ready, end: last),
    ].filter { $0.begin < $0.end }
  }
}
