package import CoreOperations

extension AdvancedOperation {
  final func cancel(reason: OperationFailure.Element?) {
    let effects = recordCancel(reason: reason)
    perform(effects)
  }

  /// What is left to do after a cancel was recorded.
  struct CancelEffects {
    let action: OperationStateMachine.CancelAction
    let evaluation: Task<Void, Never>?
    let helpers: [AdvancedOperation]
    let reason: (any Error)?
  }

  /// Sets the flag, here and in the core, and puts the news into the line.
  private func recordCancel(reason: OperationFailure.Element?) -> CancelEffects {
    let policy = cancellationPolicy
    return change { core in
      let action = core.machine.cancelCalled(reason: reason, policy: policy)
      var evaluation: Task<Void, Never>?
      var helpers: [AdvancedOperation] = []
      switch action {
      case .ignore, .recorded: break
      case .flag, .leaveQueue, .leaveHand, .finish, .stopBody:
        // Under our lock, so that flag and outcome can't disagree; it takes only leaf locks.
        _ = flagCancelled(reason: reason?.error)
        core.line.append(.cancelled(core.errors, callsHook: action == .stopBody))
        if action == .finish { core.appendEnd() }
        evaluation = core.extra?.evaluation
        core.extra?.evaluation = nil
        helpers = core.extra?.helpers ?? []
        core.extra?.helpers = []
      }
      return CancelEffects(
        action: action,
        evaluation: evaluation,
        helpers: helpers,
        reason: reason?.error
      )
    }
  }

  private func perform(_ effects: CancelEffects) {
    if effects.action == .ignore || effects.action == .recorded { return }
    effects.evaluation?.cancel()
    for helper in effects.helpers { helper.cancel(forwarding: effects.reason) }
    switch effects.action {
    case .ignore, .recorded, .flag: break
    case .leaveQueue:
      environment.exclusivity.withdraw(self)
      leaveIfQueued()
    case .leaveHand:
      environment.exclusivity.withdraw(self)
      environment.enqueue { self.takeTurnByHand() }
    case .finish: break
    case .stopBody: stopBody()
    }
    valuesMayHaveChanged()
    deliver()
  }

  /// Cancels with a reason if there is one.
  final func cancel(forwarding reason: (any Error)?) {
    if let reason { cancel(withError: reason) } else { cancel() }
  }
}

extension AdvancedOperation: LayeredOperation {
  package final func willEnqueue(in queue: OperationQueue) -> Bool {
    let advanced = queue as? AdvancedOperationQueue
    if let advanced { advanced.delegate?.operationQueue(advanced, willAdd: self) }
    let hasInputs = hasInputs
    let environment = advanced?.environment
    let (isHeld, old) = core.withLock { core in
      let old = core.environment
      if let environment { core.environment = environment }
      core.machine.enqueued()
      core.line.append(.enqueued)
      return (!core.conditions.isEmpty || hasInputs, old)
    }
    withExtendedLifetime(old) {}
    return isHeld
  }

  package final func didEnqueue() {
    updateTimers(entering: .pending)
    environment.tracer?.operation(self, entered: .pending)
    deliver()
    if let queue = queue as? AdvancedOperationQueue {
      queue.delegate?.operationQueue(queue, didAdd: self)
    }
  }

  package final func dependenciesDidFinish() {
    let action = change { $0.machine.dependenciesFinished() }
    switch action {
    case .evaluate: beginEvaluation()
    case .none: return
    }
  }

  package final func cancelSilently() {
    core.withLock { $0.line.isHeldForSweep = true }
    cancel(reason: nil)
  }

  package final func cancelAsMember(of ring: OperationCycleError) { cancel(withError: ring) }

  package final func deliverEvents() {
    core.withLock { $0.line.isHeldForSweep = false }
    deliver()
  }
}
