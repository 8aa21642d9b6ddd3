import CoreOperations

extension AdvancedOperation {
  final func cancel(reason: OperationFailure.Element?, isFromParent: Bool = false) {
    let effects = recordCancel(reason: reason, isFromParent: isFromParent)
    perform(effects)
  }

  /// What is left to do after a cancel was recorded.
  struct CancelEffects {
    let action: OperationStateMachine.CancelAction
    let evaluation: RunningEvaluation
    let reason: (any Error)?
  }

  /// Sets the flag, here and in the core, and puts the news into the line.
  private func recordCancel(
    reason: OperationFailure.Element?,
    isFromParent: Bool
  ) -> CancelEffects {
    let policy = cancellationPolicy
    return change { core in
      let action = core.machine.cancelCalled(
        reason: reason,
        policy: policy,
        isFromParent: isFromParent
      )
      var evaluation = RunningEvaluation()
      switch action {
      case .ignore, .recorded: break
      case .flag, .leaveQueue, .decided, .stopBody:
        // Under our lock, so that flag and outcome can't disagree; it takes only leaf locks.
        flagCancelled()
        core.delivery.append(.cancelled(core.errors, callsHook: core.machine.hasStarted))
        if action == .decided { core.appendEnd() }
        if let extra = core.extra { swap(&evaluation, &extra.evaluation) }
      }
      return CancelEffects(action: action, evaluation: evaluation, reason: reason?.error)
    }
  }

  private func perform(_ effects: CancelEffects) {
    if effects.action == .ignore || effects.action == .recorded { return }
    if effects.evaluation.isInUse { follow { effects.evaluation.cancel(reason: effects.reason) } }
    switch effects.action {
    case .ignore, .recorded, .flag: break
    case .leaveQueue:
      withdrawClaims()
      leaveAhead()
    case .decided: break
    case .stopBody: follow { self.stopBody() }
    }
    propertiesMayHaveChanged()
    deliver()
  }

  /// Cancels with a reason if there is one.
  final func cancel(forwarding reason: (any Error)?) {
    if let reason { cancel(withError: reason) } else { cancel() }
  }
}

extension Operation {
  /// Cancels on behalf of what the operation is in; a plain operation has no use for the reason.
  ///
  /// - Parameters:
  ///   - reason: The reason that is passed on.
  ///   - isFromParent: Whether it comes from an operation that this one is a child of.
  final func cancelAsChild(reason: (any Error)?, isFromParent: Bool = true) {
    if let operation = self as? AdvancedOperation {
      operation.cancel(
        reason: reason.map { OperationFailure.Element(origin: .cancel, error: $0) },
        isFromParent: isFromParent
      )
    } else {
      cancel()
    }
  }
}

extension Sequence where Element: Operation {
  /// Cancels all, and notifies observers of none before all are marked: what a callback does must
  /// find none of them unmarked.
  func cancelTogether(_ cancel: (Element) -> Void) {
    HeldEvents.cancel(Array(self)) { operation in
      (operation as? AdvancedOperation)?.holdEvents()
      // Of this sequence.
      if let operation = operation as? Element { cancel(operation) }
    } thenTelling: { operation in
      (operation as? AdvancedOperation)?.deliverEvents()
    }
  }
}
