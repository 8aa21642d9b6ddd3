import CoreOperations

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

/// A time limit, and its attachment to an operation.
struct TimeLimit {
  let timeout: TimeoutObserver
  let observation: OperationObservation
}
