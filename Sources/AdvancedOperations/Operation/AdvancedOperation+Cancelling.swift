import CoreOperations

extension AdvancedOperation {
  final func cancel(reason: OperationFailure.Element?, isFromParent: Bool = false) {
    let effects = recordCancel(reason: reason, isFromParent: isFromParent)
    perform(effects)
  }

  /// The steps that remain after a cancel was recorded.
  struct CancelEffects {
    let action: OperationStateMachine.CancelAction
    let evaluation: RunningEvaluation
    let reason: (any Error)?
  }

  /// Sets the flag, here and in the core, and appends the event.
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
        // The flag is set under this lock, so that flag and outcome can't disagree. Setting it acquires only
        // leaf locks.
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
    case .stopBody:
      // In this order: a body that stops waiting for its slot finds its task cancelled.
      follow {
        self.stopBody()
        self.cancelReachesBody()
      }
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
  /// Cancels the operation on behalf of its parent or queue; a plain operation doesn't use the reason.
  ///
  /// - Parameters:
  ///   - reason: The reason of the parent or the queue.
  ///   - isFromParent: A Boolean value that indicates whether the cancel comes from an operation that this
  ///     operation is a child of.
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
  /// Cancels all operations, and notifies observers after all are marked, so that a callback doesn't find an
  /// unmarked operation.
  func cancelTogether(_ cancel: (Element) -> Void) {
    HeldEvents.cancel(Array(self)) { operation in
      (operation as? AdvancedOperation)?.holdEvents()
      // Skips operations that aren't elements of this sequence.
      if let operation = operation as? Element { cancel(operation) }
    } thenTelling: { operation in
      (operation as? AdvancedOperation)?.deliverEvents()
    }
  }
}
