import CoreOperations

/// Cancels an operation that takes longer than it may, with an ``OperationTimeout`` as the reason.
///
/// The operation then ends as after any other cancel: its body is told, and has to stop by itself.
/// Time is that of the operation's environment. A group executes until its rollbacks have run: one
/// that has failed is cancelled by a limit that comes meanwhile, and keeps the errors of its
/// children.
///
/// A limit that is attached late still counts from the moment at which the operation was enqueued,
/// if that is what it measures. If the time is over by then, the operation is cancelled immediately.
/// A limit of ``Phase/evaluating`` or ``Phase/executing`` that is attached during its phase counts
/// from that moment.
///
/// ```swift
/// download.addObserver(TimeoutObserver(.seconds(30)))
/// ```
public struct TimeoutObserver: OperationObserver {
  /// Which part of the operation's life is measured.
  public enum Phase: Sendable, CaseIterable {
    /// From being enqueued to the start of its work.
    case waiting
    /// While its conditions are asked.
    case evaluating
    /// From the start of its work to its end.
    case executing
    /// From being enqueued, or started manually, to its end.
    case all

    func covers(_ state: AdvancedOperation.State) -> Bool {
      switch self {
      case .waiting: state < .executing
      case .evaluating: state == .evaluatingConditions
      case .executing: state == .executing
      case .all: state < .finishing
      }
    }
  }

  let duration: Duration
  let phase: Phase

  /// Creates an observer; the same one may be attached to many operations.
  ///
  /// - Parameters:
  ///   - duration: How long the phase may take. When it isn't positive, the operation is cancelled
  ///     as soon as the phase has begun, on another thread.
  ///   - phase: What is measured.
  public init(_ duration: Duration, of phase: Phase = .executing) {
    self.duration = duration
    self.phase = phase
  }
}

/// A time limit, and its attachment to an operation.
struct TimeLimit {
  let timeout: TimeoutObserver
  let observation: OperationObservation
}

extension AdvancedOperation {
  /// Starts and stops timers; called after every change of state, and when an observer came.
  ///
  /// - Parameter entered: What the state has changed to; nil when it hasn't.
  final func updateTimers(entering entered: State?) {
    let (stopped, due) = withCore {
      core -> ([OperationTimer], [TimeLimit]) in
      guard core.hasTimers, let extra = core.extra else { return ([], []) }
      let state = core.machine.state
      let stopped = extra.timers.filter { !$0.phase.covers(state) }.map(\.timer)
      extra.timers.removeAll { !$0.phase.covers(state) }
      let isUnderWay = core.machine.isSubmitted
      guard isUnderWay, !core.machine.isCancelled else { return (stopped, []) }
      let due = extra.timeouts.filter { $0.timeout.phase.covers(state) }
      extra.timeouts.removeAll { $0.timeout.phase.covers(state) }
      return (stopped, due)
    }
    for timer in stopped { timer.cancel() }
    for limit in due where limit.observation.isAttached { startTimer(of: limit) }
  }

  private func startTimer(of limit: TimeLimit) {
    let timeout = limit.timeout
    let clock = environment.clock
    let begin = beginning(of: timeout.phase) ?? clock.now
    let timer = clock.schedule(at: begin.saturatingAdding(timeout.duration)) { [weak self] in
      self?.cancel(
        reason: OperationFailure.Element(
          origin: .timeout,
          error: OperationTimeout(duration: timeout.duration)
        )
      )
    }
    let isLate = withCore { core in
      guard timeout.phase.covers(core.machine.state), limit.observation.took(timer) else {
        return true
      }
      core.makeExtra().timers.append((timeout.phase, timer))
      return false
    }
    if isLate { timer.cancel() }
  }

  /// When a part of the operation's life began; nil if that isn't kept.
  private func beginning(of phase: TimeoutObserver.Phase) -> Duration? {
    switch phase {
    case .waiting, .all: withCore { $0.admitted }
    case .evaluating, .executing: nil
    }
  }
}

/// An operation was cancelled because it took longer than it may.
public struct OperationTimeout: Error, Hashable, CustomStringConvertible {
  /// How long it was allowed to take.
  public var duration: Duration

  /// Creates the error.
  public init(duration: Duration) { self.duration = duration }

  /// One sentence with the duration.
  public var description: String { "It took longer than \(duration.readable)." }
}
