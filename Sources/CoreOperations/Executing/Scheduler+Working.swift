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
    executor.enqueue(described) {
      ThreadContext.with(queue: owner) { context in
        context.become(workerOf: self)
        var done = Done()
        var closure: QueueClosures.Closure?
        self.perform(step, &closure, as: context, &done)
        if !context.hasLeft { self.leave(&done) }
      }
    }
  }

  /// What a worker does: takes steps until there is none, or its share is used up.
  func work(_ source: WorkerSource) {
    ThreadContext.with(queue: nil) { work(source, as: $0) }
  }

  /// Takes a step that another worker was to take, and goes on.
  private func work(_ source: WorkerSource, beginningWith next: NextStep) {
    ThreadContext.with(queue: owner) { context in
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
    } else if worker.isServing {
      endService(by: worker)
    } else if worker.hasReturned {
      worker.hasReturned = false
      reportEarly(worker)
    } else if let operation = worker.startedOperation,
      operation.layer?.isIdle ?? (operation.life.current.phase == .finished)
    {
      if exchange(&worker.endIsDue, with: false) { operation.close() }
      var done = Done()
      let isEnd = exchange(&worker.leavesEnd, with: false)
      let event: SchedulerState.Event =
        worker.isAhead ? .leftAhead(isEnd: isEnd) : .startReturned(isEnd: isEnd)
      done.report = .init(event, of: operation)
      leaveEarly(worker, &done)
    }
  }

  /// The work of a worker has returned, and is being released.
  private func reportEarly(_ worker: ThreadContext) {
    var done = Done()
    if worker.runningClosure != 0 {
      done.report = .init(.closureReturned(exchange(&worker.runningClosure, with: 0)))
    } else if let operation = worker.operation {
      end(operation, &done)
    } else {
      done.report = .init(.barrierReturned)
    }
    leaveEarly(worker, &done)
  }

  /// Reports what a worker has done, whose code is still on the stack.
  private func leaveEarly(_ worker: ThreadContext, _ done: inout Done) {
    worker.kept = worker.startedOperation
    worker.operation = nil
    worker.hasLeft = true
    leave(&done)
  }

  /// Lets another worker serve the operations without slots, while this one is still at it.
  private func endService(by worker: ThreadContext) {
    guard exchange(&worker.isServing, with: false) else { return }
    var done = Done()
    done.report = .init(.asked)
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
      let source = source
      source.enqueue(workerOf: self) { self.work(source, beginningWith: next) }
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
      context.runningClosure = number
      if let work = closure.take() {
        work.run()
        context.hasReturned = true
        // The optimizer would release it after its last use.
        withExtendedLifetime(work) {}
      }
      context.hasReturned = false
      context.runningClosure = 0
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
      context.isInBarrier = true
      barrier.run()
      context.isInBarrier = false
      context.hasReturned = true
      barrier.release()
      context.hasReturned = false
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
      context.isAhead = true
      let isEnd = start(operation, as: context)
      context.isAhead = false
      return .leftAhead(isEnd: isEnd)
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
    context.evaluated = ObjectIdentifier(operation)
    context.isServing = true
    let readiness = operation.layer?.dependenciesDidFinish() ?? .pending
    context.evaluated = nil
    if let beginning = context.takeBeginning() {
      endService(by: context)
      BodyExecutor.run(beginning)
    }
    let event = exchange(&context.isServing, with: false) ? SchedulerState.Event.asked : .cameBack
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
    context.operation = operation
    operation.valuesMayHaveChanged()
    let work = unsafe unsafeDowncast(operation, to: BlockOperation.self).runBlocksOnce()
    context.hasReturned = true
    work.release()
    context.hasReturned = false
    context.operation = nil
    if context.hasLeft { return }
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
  private func start(_ operation: Operation, as context: ThreadContext) -> Bool {
    switch operation.life.step({ $0.turnCame() }) {
    case .leave: return false
    case .goOn:
      // Before its code runs, which is what may hold others up from here on.
      state.withLock { $0.wentOn(Member(operation)) }
      operation.layer?.turnCameAgain()
      return false
    case .callStart:
      context.operation = operation
      operation.start()
      operation.finishIfOverridden()
      context.operation = nil
      return exchange(&context.leavesEnd, with: false)
    }
  }
}
