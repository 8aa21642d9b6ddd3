/// When operations waited, were asked and executed: a value.
///
/// ```swift
/// let timeline = recorder.timeline
/// let names = timeline.criticalPath.map { timeline.spans[$0].name }
/// print("\(timeline.duration) for \(timeline.plan.work) of work, at least \(names)")
/// ```
///
/// All times are those of the operations' clock, as ``OperationClock/now`` gives them.
public struct OperationTimeline: Sendable {
  /// The life of one operation.
  public struct Span: Sendable {
    /// The operation's name, or its type.
    public var name: String
    /// When a queue took it in; nil if that was not seen.
    public var enqueued: Duration?
    /// When its conditions began to be asked; nil if it had none.
    public var evaluating: Duration?
    /// When it had only to wait for its turn; nil if it went there by itself, without conditions.
    public var ready: Duration?
    /// When it began to execute; nil if it hasn't.
    public var started: Duration?
    /// The moments at which attempts failed that it tried again after, in order; empty without a
    /// retry.
    ///
    /// Not those at which the next attempts began: these come after the delay of the retry policy.
    public var retries: [Duration] = []
    /// When it was cancelled; nil if it wasn't.
    public var cancelled: Duration?
    /// When its end was decided; nil if it goes on.
    public var ended: Duration?
    /// How it ended; nil if it goes on.
    public var outcome: OperationOutcome?
    /// The indices of those that it depended on, as far as they were recorded.
    public var dependencies: [Int]
    /// The index of the group that it is a child of.
    public var group: Int?
    /// Whether it depends on something that wasn't recorded and hasn't ended.
    var waitsForUnrecorded = false
    /// When the last of those ended that it depended on and that weren't recorded.
    var unrecordedEnd: Duration?
    /// The names of its claims.
    var claims: [String] = []

    /// How long it executed; nil if it hasn't, or goes on.
    public var executed: Duration? { ended.flatMap { executed(until: $0) } }

    /// The same, where what goes on ends now; nil if it hasn't executed.
    func executed(until now: Duration) -> Duration? {
      started.map { max((ended ?? now).saturatingSubtracting($0), .zero) }
    }
  }

  /// The operations in the order in which they were first seen.
  public let spans: [Span]
  /// When the timeline was taken, or the last event if nothing was going on then.
  public let end: Duration

  /// The first time in it.
  public var begin: Duration {
    spans.lazy.compactMap { $0.enqueued ?? $0.started ?? $0.cancelled ?? $0.ended }.min() ?? end
  }

  /// From its begin to its end.
  public var duration: Duration { max(end.saturatingSubtracting(begin), .zero) }

  /// The same timeline with other names in pictures, such as with the machine that an operation ran
  /// on.
  ///
  /// - Parameter name: Returns the name of a span; called once for each of ``spans``, in order.
  /// - Returns: A timeline that differs in nothing else.
  public func renamed(_ name: (Span) throws -> String) rethrows -> OperationTimeline {
    let spans = try spans.map { span in
      var span = span
      span.name = try name(span)
      return span
    }
    return OperationTimeline(spans: spans, end: end)
  }

  /// Durations and dependencies, to ask *what if*.
  ///
  /// The numbers are those of ``spans``. What goes on counts as if it ended now, what never
  /// executed takes no time. A group does nothing itself: it ends with its children, which begin
  /// after what it depends on.
  public var plan: OperationPlan {
    let isGroup = Set(spans.compactMap(\.group))
    var predecessors = spans.map(\.dependencies)
    for (index, span) in spans.enumerated() {
      guard let started = span.started else { continue }
      // One that was added after the start was only recorded.
      predecessors[index].removeAll { (spans[$0].ended ?? end) > started }
    }
    for (index, span) in spans.enumerated() {
      var ancestor = span.group
      var depth = 0
      while let group = ancestor, depth < spans.count {
        predecessors[index] += waits(ofGroup: group)
        ancestor = spans[group].group
        depth += 1
      }
    }
    for (index, span) in spans.enumerated() {
      if let group = span.group { predecessors[group].append(index) }
    }
    let durations = spans.enumerated().map { index, span in
      isGroup.contains(index) ? .zero : span.executed(until: end)
    }
    return OperationPlan(durations: durations.map { $0 ?? .zero }, predecessors: predecessors)
  }

  /// What a group waited for before it executed, and its children with it.
  private func waits(ofGroup group: Int) -> [Int] {
    let span = spans[group]
    return span.dependencies.filter { (spans[$0].ended ?? end) <= (span.started ?? end) }
  }

  /// The operations that took longest after each other as far as dependencies go, first to last.
  ///
  /// That is the longest way through durations and dependencies, whatever limits and claims did.
  /// What takes no time (groups, operations that never executed) is left out.
  public var criticalPath: [Int] {
    let plan = plan
    return plan.criticalPath.filter { plan.durations[$0] > .zero }
  }

  /// For each operation, how much longer it could have taken without making the critical path
  /// longer.
  ///
  /// Limits and claims aren't looked at: what waits for the slot or the claim of an operation with
  /// slack waits longer with it.
  public var slack: [Duration] { plan.slack }
}
