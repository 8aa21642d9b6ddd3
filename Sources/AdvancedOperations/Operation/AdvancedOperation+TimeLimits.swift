import CoreOperations

extension AdvancedOperation {
  /// Starts and stops timers.
  ///
  /// Called after every change of state, and when an observer was attached.
  ///
  /// - Parameter entered: The new state; nil if the state hasn't changed.
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

  final func startTimer(of limit: TimeLimit) {
    let timeout = limit.timeout
    let clock = environment.clock
    let end =
      switch timeout.kind {
      case .deadline: timeout.duration
      case .stallLimit: lastProgress(at: clock.now).saturatingAdding(timeout.duration)
      case .timeLimit:
        (beginning(of: timeout.phase) ?? clock.now).saturatingAdding(timeout.duration)
      }
    let timer = clock.schedule(at: end) { [weak self] in self?.timerCame(of: limit, dueAt: end) }
    let isLate = withCore { core in
      guard timeout.phase.covers(core.machine.state), limit.observation.took(timer) else {
        return true
      }
      let extra = core.makeExtra()
      // Each restart of a limit without progress adds a timer, so timers that have fired are removed.
      if timeout.isStallLimit { extra.timers.removeAll { !$0.timer.isPending } }
      extra.timers.append((timeout.phase, timer))
      return false
    }
    if isLate { timer.cancel() }
  }

  private func timerCame(of limit: TimeLimit, dueAt due: Duration) {
    if limit.timeout.isStallLimit {
      let now = environment.clock.now
      let action = withCore { core -> StallWatch.Action in
        guard core.machine.state == .executing, !core.machine.isCancelled else { return .none }
        return core.extra?.stallWatch?.timerCame(of: limit, dueAt: due, at: now) ?? .none
      }
      switch action {
      case .none: return
      case .again: return startTimer(of: limit)
      case .cancel: break
      }
    }
    cancel(reason: limit.timeout.element(since: beginning(of: .all) ?? environment.clock.now))
  }

  /// The time of the last progress.
  ///
  /// The operation records its progress from now on.
  private func lastProgress(at now: Duration) -> Duration {
    withCore { core in
      let isPaused = core.work?.pause != nil
      let extra = core.makeExtra()
      let watch = extra.stallWatch ?? StallWatch(at: now, isPaused: isPaused)
      extra.stallWatch = watch
      return watch.lastProgress
    }
  }

  /// The time at which a phase began; nil if the operation doesn't keep it.
  private func beginning(of phase: TimeoutObserver.Phase) -> Duration? {
    switch phase {
    case .waiting, .all: withCore { $0.admitted }
    case .evaluating, .executing: nil
    }
  }
}

/// A time limit and its attachment to an operation.
struct TimeLimit {
  let timeout: TimeoutObserver
  let observation: OperationObservation
}
