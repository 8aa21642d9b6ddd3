extension Operation {
  /// The end came: found by the default `start()`, or said by an override.
  final func reportEnd() {
    guard life.step({ $0.finishReported() }) == .finish else { return }
    let isByWorker = ThreadOccupant.withWorker(running: self) { worker, _ in
      // Before its end is reported, like work that has run, unless a `deinit` waits for that.
      worker.endIsDue = true
      letGoOfWork()
      if exchange(&worker.endIsDue, with: false) { finish() }
    }
    if isByWorker { return }
    finish()
    letGoOfWork()
  }

  /// Asks an `isFinished` that may be overridden; called when it may have turned true.
  final func lookForFinish() {
    guard !isLayered, life.current.phase != .finished, isFinished else { return }
    reportEnd()
  }

  /// Releases everything that waited for the end; once, by the first thread that reported it.
  final func finish(holdsQuiet: Bool = false) {
    var ending = OperationEnding()
    if isLayered {
      let isByWorker = ThreadOccupant.withWorker(running: self) { worker, scheduler in
        withLinks { close(&$0, leaving: &ending) }
        finish(&ending, in: scheduler, by: worker, holdsQuiet: holdsQuiet)
      }
      if isByWorker { return }
    }
    // In one step: a queue that is just taking it in finds it closed, or is found here.
    let scheduler = withLinks { links in
      let scheduler = links.scheduler
      close(&links, leaving: &ending)
      return scheduler
    }
    finish(&ending, in: scheduler, holdsQuiet: holdsQuiet)
  }

  private func finish(
    _ ending: inout OperationEnding,
    in scheduler: Scheduler?,
    by worker: ThreadOccupant? = nil,
    holdsQuiet: Bool
  ) {
    closed(leaving: &ending, in: scheduler)
    if let worker, !holdsQuiet, ending.isUnawaited {
      // Until its `start()` has returned, the queue would only make a note of it.
      worker.leavesEnd = true
    } else {
      scheduler?.finished(
        self,
        hasCompletion: ending.hasCompletion,
        holdsQuiet: holdsQuiet,
        releasing: ending.released
      )
    }
    ending.proceed(from: self, in: scheduler)
  }

  /// The same for an operation that its queue's worker ended: the worker does the rest.
  ///
  /// - Parameters:
  ///   - ending: Empty; gets what is left to do.
  ///   - scheduler: That of its queue.
  final func closeAsWorker(leaving ending: inout OperationEnding, in scheduler: Scheduler) {
    withLinks { close(&$0, leaving: &ending) }
    closed(leaving: &ending, in: scheduler)
  }

  /// No wait can begin from here on.
  private func close(_ links: inout OperationLinks, leaving ending: inout OperationEnding) {
    links.isClosed = true
    if !links.dependents.isEmpty || links.extra != nil { ending.take(from: &links) }
    // An operation of a layer may still hold its place, and forgets its queue when it leaves that.
    if !isLayered { links.leave() }
  }

  private func closed(leaving ending: inout OperationEnding, in scheduler: Scheduler?) {
    ending.sort(for: scheduler)
    if readiness.current.unfinished > 0 { unlinkDependencies() }
    // Before a waiter goes on: what observers did is done then.
    if wasObserved {
      ThreadOccupant.holding(self, by: .propertyObserver) { valuesMayHaveChanged() }
      valueObservers?.removeWatches()
    }
  }
}

extension OperationLife.Mistake {
  /// What happened, where, and how to avoid it.
  func sentence(about operation: Operation) -> String {
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
