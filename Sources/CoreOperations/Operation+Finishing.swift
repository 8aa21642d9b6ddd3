extension Operation {
  /// The end came: found by the default `start()`, or said by an override.
  final func reportEnd() {
    var mayHoldWork = false
    let action = life.step { life in
      mayHoldWork = life.phase < .executing || life.isCancelled
      return life.finishReported()
    }
    guard action == .finish else { return }
    if mayHoldWork { letGoOfWork() }
    finish()
  }

  /// Asks an `isFinished` that may be overridden; called when it may have turned true.
  final func lookForFinish() {
    guard unsafe layer == nil, life.current.phase != .finished, isFinished else { return }
    reportEnd()
  }

  /// Releases everything that waited for the end; once, by whoever reported it first.
  final func finish() {
    let isLayered = unsafe layer != nil
    let (told, scheduler, completion, waiters) = links.withLock { links in
      links.isClosed = true
      let scheduler = links.scheduler
      if !isLayered { links.scheduler = nil }
      let completion = links.extra?.completionBlock
      links.extra?.completionBlock = nil
      let waiters = links.extra?.waiters
      links.extra?.waiters = WaitList()
      return (links.dependents.resolveAll(), scheduler, completion, waiters)
    }
    if readiness.current.unfinished > 0 { unlinkDependencies() }
    // Before anybody who waited goes on: what observers did is done then.
    valuesMayHaveChanged()
    if let scheduler {
      let (own, others) = Self.partition(told.ready, by: scheduler)
      scheduler.finished(self, hasCompletion: completion != nil, releasing: own)
      Self.offer(others)
    } else {
      Self.offer(told.ready)
    }
    waiters?.wakeAll()
    guard let completion else { return }
    let executor = scheduler?.completionExecutor ?? DefaultExecutor.shared
    executor.enqueue {
      Scheduler.withCompletion(of: scheduler, completion)
      scheduler?.completionReturned(self)
    }
  }

  private static func partition(
    _ operations: [Operation],
    by scheduler: Scheduler
  ) -> (own: [Operation], others: [Operation]) {
    if operations.isEmpty { return ([], []) }
    var own: [Operation] = []
    var others: [Operation] = []
    for operation in operations {
      if operation.links.withLock({ $0.scheduler }) === scheduler {
        own.append(operation)
      } else {
        others.append(operation)
      }
    }
    return (own, others)
  }

  private static func offer(_ operations: [Operation]) {
    for operation in operations {
      operation.links.withLock { $0.scheduler }?.offer(CollectionOfOne(operation))
    }
  }

  /// Keeps the reason of a cancel that follows.
  ///
  /// Before the flag, so that whoever sees the flag finds the reason.
  final func noteReason(_ reason: any Error) {
    let old = links.withLock { links -> (any Error)? in
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
      let isDenied = unsafe layer == nil && !isFinished
      action = isDenied ? life.step { $0.cancelCalled(isFinishDenied: true) } : .ignore
    }
    if action == .expedite { readiness.step { $0.dropped() } }
    return action
  }
}

extension OperationLife.Mistake {
  /// What happened, where, and how to avoid it.
  package func sentence(about operation: Operation) -> String {
    let name = "“\(operation.label)”"
    switch self {
    case .enqueuedTwice:
      return "Operation \(name) was added to a queue, but it is in one already. "
        + "An operation belongs to one queue, once; make a new one for each run."
    case .enqueuedAfterStart:
      return "Operation \(name) was added to a queue after it had started or finished. "
        + "An operation runs once; make a new one for each run."
    case .startedWhileQueued:
      return "start() was called on operation \(name), which is in a queue. "
        + "Its queue starts it; remove the call."
    case .startedWhileExecuting:
      return "start() was called on operation \(name), which is executing. "
        + "An operation runs once; remove the second call."
    case .startedBeforeReady:
      return "start() was called on operation \(name), which is not ready. "
        + "Wait until its dependencies have finished, or add all of them to a queue."
    }
  }
}
