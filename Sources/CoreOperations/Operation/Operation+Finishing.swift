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
    guard !isLayered, life.current.phase != .finished, isFinished else { return }
    reportEnd()
  }

  /// What the end of an operation leaves to do; nothing for one without waiters.
  ///
  /// A worker has one for all that it ends: to make and destroy one each time was a tenth of the
  /// cost of an empty block (callgrind).
  struct Ending: ~Copyable {
    /// The dependents that the operation's own queue may start now; it is notified in one step.
    private(set) var released = FewOperations()
    /// The dependents that have more to wait for; only to be released.
    private var waiting = FewOperations()
    private var rest: Rest?

    var hasCompletion: Bool { rest?.completion != nil }

    /// Whether what is left to do is about the operation, which has to be kept alive until then.
    var needsOperation: Bool { rest.map { $0.waiters != nil || $0.completion != nil } ?? false }

    /// Whether neither the end nor the completion block has a waiter.
    var isUnawaited: Bool { released.isEmpty && rest == nil }

    /// What few ends leave.
    private final class Rest {
      /// Those that other queues may start.
      var others = FewOperations()
      var completion: (@Sendable () -> Void)?
      var waiters: WaitList<Operation>?
    }

    private mutating func makeRest() -> Rest {
      if let rest { return rest }
      let made = Rest()
      rest = made
      return made
    }

    /// Takes dependents, waiters and the completion block out of the links of an operation.
    mutating func take(from links: inout OperationLinks) {
      if let extra = links.extra, extra.completionBlock != nil || extra.waiters.isInUse {
        let rest = makeRest()
        swap(&rest.completion, &extra.completionBlock)
        rest.waiters = extra.waiters
        extra.waiters = WaitList()
      }
      links.dependents.resolveAll(&released, waiting: &waiting)
    }

    /// Leaves only those of a queue among the released.
    mutating func sort(for scheduler: Scheduler?) {
      // Without a lock: what is ready was taken into its queue before.
      let id = scheduler.map { ObjectIdentifier($0) }
      if released.isEmpty || released.areAll(in: id) { return }
      var own = FewOperations()
      let rest = makeRest()
      released.forEach { operation in
        let isOwn = id.map { operation.isIn($0) } ?? false
        if isOwn { own.append(operation) } else { rest.others.append(operation) }
      }
      released = own
    }

    /// The rest, once the operation's own queue knows: other queues, waiters, the completion
    /// block.
    ///
    /// - Parameters:
    ///   - operation: What has ended, kept alive by the caller; may be nil unless
    ///     ``needsOperation``.
    ///   - scheduler: That of its queue.
    mutating func proceed(from operation: Operation?, in scheduler: Scheduler?) {
      released.removeAll()
      waiting.removeAll()
      guard let rest = rest.take() else { return }
      rest.others.forEach { dependent in
        dependent.withLinks { $0.scheduler }?.offer(CollectionOfOne(dependent))
      }
      guard rest.waiters != nil || rest.completion != nil else { return }
      guard let operation else { trap("waiters are left of an operation that nothing keeps") }
      rest.waiters?.wakeAll(operation)
      guard let completion = rest.completion else { return }
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

  /// Releases everything that waited for the end; once, by the first thread that reported it.
  final func finish(holdsQuiet: Bool = false) {
    var ending = Ending()
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
    _ ending: inout Ending,
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
  final func closeAsWorker(leaving ending: inout Ending, in scheduler: Scheduler) {
    withLinks { close(&$0, leaving: &ending) }
    closed(leaving: &ending, in: scheduler)
  }

  /// No wait can begin from here on.
  private func close(_ links: inout OperationLinks, leaving ending: inout Ending) {
    links.isClosed = true
    if !links.dependents.isEmpty || links.extra != nil { ending.take(from: &links) }
    // An operation of a layer may still hold its place, and forgets its queue when it leaves that.
    if !isLayered { links.leave() }
  }

  private func closed(leaving ending: inout Ending, in scheduler: Scheduler?) {
    ending.sort(for: scheduler)
    if readiness.current.unfinished > 0 { unlinkDependencies() }
    // Before a waiter goes on: what observers did is done then.
    valuesMayHaveChanged()
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
