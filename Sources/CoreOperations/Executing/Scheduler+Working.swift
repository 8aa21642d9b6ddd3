import Synchronization

/// What workers do: ask what is next, run it, and say with the next question what came of it.
extension Scheduler {
  /// What a worker does on an executor that decides every step: decides on one thing, and has that
  /// done as another step.
  func decide(_ source: WorkerSource, _ executor: any SteppedExecutor) {
    var effects = SchedulerState.Effects()
    let step = ask(after: Done(), from: source, &effects)
    let owner = owner
    perform(&effects)
    guard let described = step.described(by: self) else { return }
    executor.enqueue(described) { self.take(NextStep(step: step), in: owner) }
  }

  /// What a worker does: takes steps until there is none, or its share is used up.
  func work(_ source: WorkerSource) {
    ThreadContext.with(queue: nil) { work(source, as: $0) }
  }

  /// Takes one step that was decided before, and leaves.
  private func take(_ next: NextStep, in queue: OperationQueue?) {
    ThreadContext.with(queue: queue) { context in
      context.become(workerOf: self)
      var done = Done()
      var closure = next.closure
      AutoreleasePool.drained { perform(next.step, &closure, as: context, &done) }
      if !context.hasLeft { leave(&done) }
    }
  }

  private func work(_ source: WorkerSource, as context: ThreadContext) {
    var done = Done()
    // One for all steps: to make, copy and destroy one for each was a tenth of an empty closure's
    // instructions (callgrind).
    var effects = SchedulerState.Effects()
    let executor = source.executor
    let turn = WorkerTurn(on: source)
    context.mayBeginTasks = turn.isInSharedPool
    var share = max(1, executor.operationsPerWorker)
    // Keeps the queue alive for code that reads the current one. Known from the first step on: a
    // queue that was empty when its worker came has no owner yet.
    var owner: OperationQueue?
    defer { withExtendedLifetime(owner) { unsafe context.queue = nil } }
    while true {
      if share == 0 || owner != nil && turn.isOver { return leave(&done) }
      let mayLinger = if case .lingered = done.report.event { false } else { turn.mayLinger }
      let step = ask(after: done, from: source, mayLinger: mayLinger, &effects)
      if effects.garbage != nil || done.mayRunCode || !valueObservers.isEmpty {
        guard conclude(&done, &effects, before: step, as: context) else { return }
      } else {
        perform(&effects)
        done.proceed(in: self)
      }
      switch step {
      case .leave: return
      case .linger:
        turn.linger { hasNews.load(ordering: .relaxed) }
        done.report = .init(.lingered)
        continue
      case .evaluate, .start, .run, .end, .barrier: break
      }
      if owner == nil {
        owner = self.owner
        unsafe context.queue = owner
        context.become(workerOf: self)
      }
      AutoreleasePool.drained { perform(step, &effects.closure, as: context, &done) }
      if context.hasLeft { return }
      share -= 1
    }
  }

  /// Does what the last report has left to do, and what may run code of the program: an observer or
  /// a `deinit`, which may wait for the very operation that this worker is to start next.
  ///
  /// - Returns: Whether the worker still is to take the step; see ``goOnWithout(_:)``.
  private func conclude(
    _ done: inout Done,
    _ effects: inout SchedulerState.Effects,
    before step: SchedulerState.Step,
    as context: ThreadContext
  ) -> Bool {
    var next: NextStep? = NextStep(step: step, closure: effects.closure.take())
    unsafe withUnsafeMutablePointer(to: &next) { next in
      unsafe context.next = next
      perform(&effects)
      done.proceed(in: self)
      unsafe context.next = nil
    }
    guard let next else { return false }
    effects.closure = next.closure
    return true
  }

  // MARK: Waits on a worker's thread

  /// Code of the program is about to block the thread of a worker, which is between two things: has
  /// the queue go on without it.
  ///
  /// Work is released before its end is reported, so that nothing of it is left when a wait for the
  /// end returns. A `deinit` that waits then has that end reported first.
  func goOnWithout(_ worker: ThreadContext) {
    if let next = unsafe worker.next {
      unsafe worker.next = nil
      if let next = unsafe next.pointee.take() { handOver(next) }
      return
    }
    switch worker.work {
    case .nothing, .leftToOthers: return
    case .evaluation: endService(by: worker)
    case .closure(let number, let progress):
      if progress == .returned { leaveEarly(worker, Done(report: .init(.closureReturned(number)))) }
    case .barrier(let progress):
      if progress == .returned { leaveEarly(worker, Done(report: .init(.barrierReturned))) }
    case .operation(let operation, let isAhead, let progress):
      let operation = unsafe operation.takeUnretainedValue()
      var done = Done()
      if progress == .returned {
        end(operation, &done)
      } else if operation.layer?.isIdle ?? (operation.life.current.phase == .finished) {
        worker.closeFinished(operation)
        let isEnd = worker.progress == .closed
        done.report = .init(
          isAhead ? .leftAhead(isEnd: isEnd) : .startReturned(isEnd: isEnd),
          of: operation
        )
      } else {
        return
      }
      worker.kept = operation
      leaveEarly(worker, done)
    }
  }

  /// Reports what a worker has done, whose code is still on the stack.
  private func leaveEarly(_ worker: ThreadContext, _ done: consuming Done) {
    worker.work = .leftToOthers
    leave(&done)
  }

  /// Lets another worker evaluate conditions, while this one is still at it.
  private func endService(by worker: ThreadContext) {
    guard case .evaluation = worker.work else { return }
    worker.work = .nothing
    var done = Done(report: .init(.asked))
    leave(&done)
  }

  /// Has another worker take a step.
  private func handOver(_ next: NextStep) {
    switch next.step {
    case .leave: return
    case .linger:
      var effects = SchedulerState.Effects()
      state.withLock { $0.lingeringEnded(&effects) }
      perform(&effects)
    case .evaluate, .start, .run, .end, .barrier:
      source.enqueue(workerOf: self) { self.take(next, in: self.owner) }
    }
  }

  @inline(__always)
  private func ask(
    after done: borrowing Done,
    from source: WorkerSource,
    mayLinger: Bool = false,
    _ effects: inout SchedulerState.Effects
  ) -> SchedulerState.Step {
    state.withLock { state in
      let step = state.nextStep(
        after: done.report,
        releasing: done.ending.released,
        from: source,
        mayLinger: mayLinger,
        &effects
      )
      if case .linger = step { hasNews.store(false, ordering: .relaxed) }
      return step
    }
  }

  /// Reports what was done without asking for more.
  private func leave(_ done: inout Done) {
    var effects = SchedulerState.Effects()
    let unended = state.withLock { state -> Member? in
      if let unended = state.takeUnended(done.report) { return unended }
      state.shareUsedUp(after: done.report, releasing: done.ending.released, &effects)
      return nil
    }
    if let unended {
      end(unended, &done)
      return leave(&done)
    }
    perform(&effects)
    done.proceed(in: self)
  }

  /// What a worker has done.
  ///
  /// A worker has one of these and changes it: handing a new one from step to step was 14 of the 47
  /// changes of a reference count that an empty block cost, and then a fifth of its instructions
  /// (callgrind).
  private struct Done: ~Copyable {
    var report = SchedulerState.Report(.began)
    /// What the report is about, where it is needed beyond that: its queue may let go of it before
    /// what its end leaves is done.
    var operation: Operation?
    /// What its end leaves to do once the queue knows of it.
    var ending = OperationEnding()

    /// Whether what is left to do may run code of the program: waiters may be closures.
    var mayRunCode: Bool { operation != nil || !ending.isEmpty }

    /// The report was read: does the rest, and lets go of the operation.
    mutating func proceed(in scheduler: Scheduler) {
      ending.proceed(from: operation, in: scheduler)
      if operation != nil { operation = nil }
    }
  }

  @inline(__always)
  private func perform(
    _ step: SchedulerState.Step,
    _ closure: inout QueueClosures.Closure?,
    as context: ThreadContext,
    _ done: inout Done
  ) {
    if case .run(let number) = step {
      context.work = .closure(number, .running)
      if let work = closure.take() {
        work.run()
        context.work = .closure(number, .returned)
        // The optimizer would release it after its last use.
        withExtendedLifetime(work) {}
      }
      context.workEnded()
      done.report = .init(.closureReturned(number))
    } else if case .start(let member, .known) = step {
      member.use { startKnown($0, as: context, &done) }
    } else {
      performOther(step, as: context, &done)
    }
  }

  @inline(never)
  private func performOther(
    _ step: SchedulerState.Step,
    as context: ThreadContext,
    _ done: inout Done
  ) {
    switch step {
    case .leave, .linger, .run: trap("a worker was to perform nothing")
    case .end(let member): end(member, &done)
    case .barrier(let barrier):
      context.work = .barrier(.running)
      barrier.run()
      context.work = .barrier(.returned)
      barrier.release()
      context.workEnded()
      done.report = .init(.barrierReturned)
    case .evaluate(let operation): evaluate(operation, as: context, &done)
    case .start(let member, let terms):
      member.use { operation in
        done.report = .init(start(operation, terms, as: context), of: operation)
      }
    }
  }

  /// Starts an operation, unless something has come in between.
  private func start(
    _ operation: Operation,
    _ terms: SchedulerState.Terms,
    as context: ThreadContext
  ) -> SchedulerState.Event {
    if case .ahead = terms {
      return .leftAhead(isEnd: start(operation, isAhead: true, as: context))
    }
    if case .granted = terms {
      if !hasNewDependency(operation) { operation.layer?.grantedStartBegins() }
      // That may have added a dependency.
      if hasNewDependency(operation) {
        operation.layer?.returnGrant()
        return .gotDependency
      }
    }
    if hasNewDependency(operation) { return .gotDependency }
    if case .asked = terms {
      switch gate(operation) {
      case .run: break
      case .park: return .parked
      }
    }
    return .startReturned(isEnd: start(operation, as: context))
  }

  /// Has an operation's conditions evaluated, and runs the beginning of the task that does so, if
  /// that was left for this worker.
  ///
  /// Not in the name of the queue's one service worker: it may take its time.
  private func evaluate(
    _ operation: Operation,
    as context: ThreadContext,
    _ done: inout Done
  ) {
    context.work = .evaluation(of: ObjectIdentifier(operation))
    let readiness = operation.layer?.dependenciesDidFinish() ?? .pending
    if let beginning = context.takeBeginning() {
      endService(by: context)
      BodyExecutor.run(beginning)
    }
    // Unless the service has ended while something waited in there.
    let event: SchedulerState.Event
    if case .evaluation = context.work { event = .asked } else { event = .cameBack }
    context.workEnded()
    done.report = .init(event, of: operation, readiness: readiness)
    done.operation = operation
  }

  /// Whether a dependency was added since the start was decided.
  private func hasNewDependency(_ operation: Operation) -> Bool {
    operation.readiness.current.progress == .none && !operation.isCancelledFlag
      && operation.life.current.phase <= .enqueued
  }

  /// Starts an operation of which everything is known: not a subclass, so nothing is overridden.
  ///
  /// Its end is reported to the queue with the worker's next question, in one step instead of two:
  /// half of the cost of an empty block was the second lock and the calls around it (callgrind).
  private func startKnown(
    _ operation: Operation,
    as context: ThreadContext,
    _ done: inout Done
  ) {
    if hasNewDependency(operation) {
      done.report = .init(.gotDependency, of: operation)
      return
    }
    guard operation.life.step({ $0.turnCameToMain() }) else {
      // It was cancelled.
      done.report = .init(.startReturned(isEnd: start(operation, as: context)), of: operation)
      return
    }
    context.work = unsafe .operation(.passUnretained(operation), isAhead: false, .running)
    operation.valuesMayHaveChanged()
    let work = unsafe unsafeDowncast(operation, to: BlockOperation.self).runBlocksOnce()
    context.work = unsafe .operation(.passUnretained(operation), isAhead: false, .returned)
    work.release()
    if context.hasLeft { return }
    context.work = .nothing
    end(operation, &done)
  }

  /// Ends the operation that a closure has become while it ran.
  private func end(_ member: Member, _ done: inout Done) { member.use { end($0, &done) } }

  /// The work of an operation of which everything is known has returned.
  @inline(__always)
  private func end(_ operation: Operation, _ done: inout Done) {
    operation.life.step { $0.mainReturnedForGood() }
    operation.close(leaving: &done.ending, in: self)
    done.report = .init(.ended(hasCompletion: done.ending.hasCompletion), of: operation)
    // The queue may have been the only one to keep it, and lets go of it before the rest is done.
    if done.ending.needsOperation { done.operation = operation }
  }

  private func gate(_ operation: Operation) -> StartDecision {
    if operation.isCancelledFlag { return .run }
    if let layer = operation.layer { return layer.decideStart() }
    return ThreadContext.holding(operation, by: .isReady) { operation.isReady } ? .run : .park
  }

  /// Returns whether the operation has ended and the queue doesn't know it.
  private func start(
    _ operation: Operation,
    isAhead: Bool = false,
    as context: ThreadContext
  ) -> Bool {
    switch operation.life.step({ $0.turnCame() }) {
    case .leave: return false
    case .goOn:
      // Before its code runs, which is what may hold others up from here on.
      state.withLock { $0.wentOn(Member(operation)) }
      operation.layer?.turnCameAgain()
      return false
    case .callStart:
      context.work = unsafe .operation(.passUnretained(operation), isAhead: isAhead, .running)
      operation.start()
      operation.finishIfOverridden()
      let isEnd = context.progress == .closed
      context.workEnded()
      return isEnd
    }
  }
}
