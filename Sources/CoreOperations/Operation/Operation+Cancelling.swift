// What `cancel()` does to an operation, and what its queue hears of it.
extension Operation {
  /// Cancels with the reason that ``cancellationReason`` then gives.
  final func cancelAsRequested(reason: (any Error)?) {
    if flagAsCancelled(reason: reason) == .leaveAhead {
      withLinks { $0.scheduler }?.leavesAhead(self)
    }
    valuesMayHaveChanged()
  }

  /// Keeps the reason of a cancel that follows.
  ///
  /// Before the flag, so that a thread that sees the flag finds the reason.
  final func noteReason(_ reason: any Error) {
    let old = withLinks { links -> (any Error)? in
      guard !links.isClosed, !isCancelledFlag else { return nil }
      let extra = links.makeExtra()
      defer { extra.cancellationReason = reason }
      return extra.cancellationReason
    }
    withExtendedLifetime(old) {}
  }

  /// Sets the flag and the reason, and stops waiting for dependencies; tells no queue.
  final func flagAsCancelled(reason: (any Error)?) -> OperationLife.CancelAction {
    if let reason {
      noteReason(reason)
    }
    var action = life.step { $0.cancelCalled() }
    if action == .askWhetherFinished {
      // `isFinished` of a layer can't be overridden, and this may run under a lock of the layer.
      let isDenied = !isLayered && !isFinished
      action = isDenied ? life.step { $0.cancelCalled(isFinishDenied: true) } : .ignore
    }
    if action == .leaveAhead { readiness.step { $0.dropped() } }
    return action
  }
}
