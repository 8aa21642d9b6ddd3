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

  /// What the end of an operation leaves to do.
  struct Ending: ~Copyable {
    fileprivate var told: DependentList.Told
    let scheduler: Scheduler?
    fileprivate let completion: (@Sendable () -> Void)?
    fileprivate let waiters: WaitList?

    var hasCompletion: Bool { completion != nil }

    /// Takes those out that the operation's own queue may start now; it is told in one step.
    mutating func takeOwnReady() -> FewOperations {
      guard let scheduler, !told.ready.isEmpty else { return FewOperations() }
      func isOwn(_ operation: Operation) -> Bool {
        operation.links.withLock { $0.scheduler === scheduler }
      }
      let ready = told.ready.takeAll()
      if ready.allSatisfy(isOwn) { return ready }
      var own = FewOperations()
      ready.forEach { if isOwn($0) { own.append($0) } else { told.ready.append($0) } }
      return own
    }

    /// The rest, once the operation's own queue knows: other queues, those who wait, the completion
    /// block.
    consuming func proceed(from operation: Operation) {
      told.ready.forEach { dependent in
        dependent.links.withLock { $0.scheduler }?.offer(CollectionOfOne(dependent))
      }
      waiters?.wakeAll()
      guard let completion else { return }
      let executor = scheduler?.completionExecutor ?? DefaultExecutor.shared
      let complete: @Sendable () -> Void = { [scheduler] in
        Scheduler.withCompletion(of: scheduler, completion)
        scheduler?.completionReturned(operation)
      }
      if let stepped = scheduler?.steppedCompletion {
        stepped.enqueue(.complete(operation), complete)
      } else {
        executor.enqueue(complete)
      }
    }
  }

  /// Releases everything that waited for the end; once, by whoever reported it first.
  final func finish(holdsQuiet: Bool = false) {
    var ending = close()
    let own = ending.takeOwnReady()
    ending.scheduler?.finished(
      self,
      hasCompletion: ending.hasCompletion,
      holdsQuiet: holdsQuiet,
      releasing: own
    )
    ending.proceed(from: self)
  }

  /// Closes the operation and tells those who observe it; the queue and the others are to be told next.
  final func close() -> Ending {
    let isLayered = unsafe layer != nil
    let ending = links.withLock { links in
      links.isClosed = true
      let scheduler = isLayered ? links.scheduler : links.scheduler.take()
      let completion = links.extra?.completionBlock
      links.extra?.completionBlock = nil
      let waiters = links.extra?.waiters
      links.extra?.waiters = WaitList()
      return Ending(
        told: links.dependents.resolveAll(),
        scheduler: scheduler,
        completion: completion,
        waiters: waiters
      )
    }
    if readiness.current.unfinished > 0 { unlinkDependencies() }
    // Before anybody who waited goes on: what observers did is done then.
    valuesMayHaveChanged()
    return ending
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
