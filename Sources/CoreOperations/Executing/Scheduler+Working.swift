import Synchronization

/// The work loop of a worker: it takes the next step, performs it, and reports the result when it takes the
/// following step.
extension Scheduler {
  /// Decides on one step for an executor that controls every step, and submits it as a separate step.
  func decide(_ source: WorkerSource, _ executor: any SteppedExecutor) {
    var effects = SchedulerState.Effects()
    let step = ask(after: Done(), from: source, &effects)
    let owner = owner
    perform(&effects)
    guard let described = step.described(by: self) else { return }
    executor.enqueue(described) { self.take(NextStep(step: step), in: owner) }
  }

  /// Takes steps until there is none, or until the share of the worker is used up.
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
    // The effects are one value for all steps. Creating, copying and destroying a value for each step was a
    // tenth of an empty closure's instructions (callgrind).
    var effects = SchedulerState.Effects()
    let executor = source.executor
    let turn = WorkerTurn(on: source)
    context.mayBeginTasks = turn.isInSharedPool
    var share = max(1, executor.operationsPerWorker)
    // The owner keeps the queue alive for code that reads the current queue. The owner is known only after
    // the first step, because a queue that was empty when its worker arrived has no owner yet.
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

  /// Performs the remaining work of the last report, which may run code of the program.
  ///
  /// The code is an observer or a `deinit`, which may wait for the operation that this worker is about to
  /// start.
  ///
  /// - Returns: Whether the worker still has to take the step; see ``goOnWithout(_:)``.
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

  /// Makes the queue continue without a worker that is between two steps, because code of the program is
  /// about to block its thread.
  ///
  /// Work is released before its end is reported, so that it is gone when a wait for the end returns. If a
  /// `deinit` waits then, this method reports the end first.
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

  /// Reports the work of a worker whose code is still on the call stack.
  private func leaveEarly(_ worker: ThreadContext, _ done: consuming Done) {
    worker.work = .leftToOthers
    leave(&done)
  }

  /// Lets another worker evaluate conditions, while this worker is still evaluating.
  private func endService(by worker: ThreadContext) {
    guard case .evaluation = worker.work else { return }
    worker.work = .nothing
    var done = Done(report: .init(.asked))
    leave(&done)
  }

  /// Makes another worker take a step.
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

  /// Reports the work without requesting a new step.
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

  /// The result of a step that a worker has performed.
  ///
  /// A worker has one such value and changes it. Passing a new value from step to step caused 14 of the 47
  /// reference count changes of an empty block, and a fifth of its instructions (callgrind).
  private struct Done: ~Copyable {
    var report = SchedulerState.Report(.began)
    /// The operation of the report, if it is needed after the report, because its queue may release it before
    /// the remaining work of its end is done.
    var operation: Operation?
    /// The remaining work of an operation's end after the queue has received the report.
    var ending = OperationEnding()

    /// A Boolean value that indicates whether the remaining work may run code of the program, because waiters
    /// may be closures.
    var mayRunCode: Bool { operation != nil || !ending.isEmpty }

    /// Performs the remaining work after the report was read, and releases the operation.
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
        // The optimizer would release the closure after its last use.
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
    case .leave, .linger, .run: internalError("a worker received a step without work")
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

  /// Starts an operation, unless another event has occurred in between.
  private func start(
    _ operation: Operation,
    _ terms: SchedulerState.Terms,
    as context: ThreadContext
  ) -> SchedulerState.Event {
    if case .ahead = terms {
      return .leftAhead(isEnd: start(operation, isAhead: true, as: context))
    }
    if case .granted = terms {
      if !hasNewDependency(operation), let layer = operation.layer {
        switch layer.grantedStartBegins() {
        case .run: break
        case .park: return .parked
        }
      }
      // The layer may have added a dependency.
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

  /// Evaluates an operation's conditions, and runs the beginning of the evaluating task if it was left to
  /// this worker.
  ///
  /// The beginning may take long, so the worker isn't the queue's only service worker while it runs.
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
    // The service may have ended already, because code waited during the evaluation.
    let event: SchedulerState.Event
    if case .evaluation = context.work { event = .asked } else { event = .cameBack }
    context.workEnded()
    done.report = .init(event, of: operation, readiness: readiness)
    done.operation = operation
  }

  /// Returns whether a dependency was added since the start was decided.
  private func hasNewDependency(_ operation: Operation) -> Bool {
    operation.readiness.current.progress == .none && !operation.isCancelledFlag
      && operation.life.current.phase <= .enqueued
  }

  /// Starts an operation whose class is known, so that no method is overridden.
  ///
  /// The end is reported to the queue with the worker's next request, in one step instead of two. The second
  /// lock and the calls around it were half of the cost of an empty block (callgrind).
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
      // The operation was cancelled.
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

  /// Ends an operation whose class is known, because its work has returned.
  @inline(__always)
  private func end(_ operation: Operation, _ done: inout Done) {
    operation.life.step { $0.mainReturnedForGood() }
    operation.close(leaving: &done.ending, in: self)
    done.report = .init(.ended(hasCompletion: done.ending.hasCompletion), of: operation)
    // The queue may have the last reference, and releases it before the remaining work is done.
    if done.ending.needsOperation { done.operation = operation }
  }

  private func gate(_ operation: Operation) -> StartDecision {
    if operation.isCancelledFlag { return .run }
    if let layer = operation.layer { return layer.decideStart() }
    return ThreadContext.holding(operation, by: .isReady) { operation.isReady } ? .run : .park
  }

  /// Starts an operation; returns whether it has ended without the queue being notified.
  private func start(
    _ operation: Operation,
    isAhead: Bool = false,
    as context: ThreadContext
  ) -> Bool {
    switch operation.life.step({ $0.turnCame() }) {
    case .leave: return false
    case .goOn:
      // The resumption is recorded before the operation's code runs, because from here on that code may delay
      // others.
      switch state.withLock({ $0.wentOn(Member(operation)) }) {
      case .layer: operation.layer?.turnCameAgain()
      case .body(let wait): wait?.finish()
      case .nothing: break
      }
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
