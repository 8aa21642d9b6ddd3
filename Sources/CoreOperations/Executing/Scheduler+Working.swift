import Synchronization

/// What workers do: ask what is next, run it, and say with the next question what came of it.
extension Scheduler {
  /// What a worker does on an executor that decides every step: decides on one thing, and has that
  /// done as another step.
  func decide(_ source: WorkerSource, _ executor: any SteppedExecutor) {
    let (step, effects) = ask(after: Done(), from: source)
    let owner = owner
    perform(effects)
    guard let described = step.described(by: self) else { return }
    let pending = PendingStep(step)
    executor.enqueue(described) {
      ThreadOccupant.with(queue: owner) { occupant in
        occupant.become(workerOf: self)
        var done = Done()
        self.perform(pending.take(), as: occupant, &done)
        self.leave(&done)
      }
    }
  }

  /// What a worker does: takes steps until there is none, or its share is used up.
  func work(_ source: WorkerSource) {
    ThreadOccupant.with(queue: nil) { work(source, as: $0) }
  }

  private func work(_ source: WorkerSource, as occupant: ThreadOccupant) {
    var done = Done()
    let executor = source.executor
    let turn = WorkerTurn(on: executor)
    occupant.mayBeginTasks = turn.isInSharedPool
    var share = max(1, executor.operationsPerWorker)
    // Keeps the queue alive for code that reads the current one. Known from the first step on: a
    // queue that was empty when its worker came has no owner yet.
    var owner: OperationQueue?
    defer { withExtendedLifetime(owner) { unsafe occupant.queue = nil } }
    while true {
      if share == 0 || owner != nil && turn.isOver { return leave(&done) }
      let mayLinger = if case .lingered = done.report.event { false } else { turn.mayLinger }
      let (step, effects) = ask(after: done, from: source, mayLinger: mayLinger)
      perform(effects)
      done.proceed(in: self)
      switch step {
      case .leave: return
      case .linger:
        turn.linger { hasNews.load(ordering: .relaxed) }
        done.report = .init(.lingered)
        continue
      case .evaluate, .review, .startAhead, .start, .startLayered, .startAfterWait,
        .startUnasked, .startKnown, .startGranted, .barrier:
        break
      }
      if owner == nil {
        owner = self.owner
        unsafe occupant.queue = owner
        occupant.become(workerOf: self)
      }
      perform(step, as: occupant, &done)
      share -= 1
    }
  }

  @inline(__always)
  private func ask(
    after done: borrowing Done,
    from source: WorkerSource,
    mayLinger: Bool = false
  ) -> (SchedulerState.Step, SchedulerState.Effects) {
    var effects = SchedulerState.Effects()
    let step = state.withLock { state in
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
    return (step, effects)
  }

  /// Reports what was done without asking for more.
  private func leave(_ done: inout Done) {
    var effects = SchedulerState.Effects()
    state.withLock {
      $0.shareUsedUp(after: done.report, releasing: done.ending.released, &effects)
    }
    perform(effects)
    done.proceed(in: self)
  }

  /// What a worker has done.
  ///
  /// A worker has one of these and changes it: handing a new one from step to step was 14 of the 47
  /// changes of a reference count that an empty block cost, and then a fifth of its instructions
  /// (callgrind).
  private struct Done: ~Copyable {
    var report = SchedulerState.Report(.began)
    /// What the report is about, kept alive until that was read and what its end leaves is done,
    /// where its queue doesn't do that.
    var operation: Operation?
    /// What its end leaves to do once the queue knows of it.
    var ending = Operation.Ending()

    mutating func report(_ event: SchedulerState.Event, of operation: Operation) {
      report = .init(event, of: operation)
      self.operation = operation
    }

    /// The report was read: does the rest, and lets go of the operation.
    mutating func proceed(in scheduler: Scheduler) {
      ending.proceed(from: operation, in: scheduler)
      if operation != nil { operation = nil }
    }
  }

  @inline(__always)
  private func perform(
    _ step: SchedulerState.Step,
    as occupant: ThreadOccupant,
    _ done: inout Done
  ) {
    if case .startKnown(let member) = step {
      unsafe member._withUnsafeGuaranteedRef { startKnown($0, as: occupant, &done) }
    } else {
      performOther(step, as: occupant, &done)
    }
  }

  @inline(never)
  private func performOther(
    _ step: SchedulerState.Step,
    as occupant: ThreadOccupant,
    _ done: inout Done
  ) {
    switch step {
    case .leave, .linger, .startKnown: trap("a worker was to perform nothing")
    case .barrier(let retained):
      unsafe retained.takeRetainedValue().block()
      done.report = .init(.barrierReturned)
    case .evaluate(let retained):
      unsafe evaluate(retained.takeRetainedValue(), as: occupant, &done)
    case .review(let retained):
      unsafe retained.takeRetainedValue().layer?.reviewBeforeReoffer()
      done.report = .init(.asked)
    case .startAhead(let retained):
      let operation = unsafe retained.takeRetainedValue()
      let isEnd = start(operation, as: occupant)
      done.report(.startedAhead(isEnd: isEnd), of: operation)
    case .startGranted(let retained):
      let operation = unsafe retained.takeRetainedValue()
      if !isHeldBack(operation) { unsafe operation.layer?.grantedStartBegins() }
      // That may have added a dependency.
      if isHeldBack(operation) {
        unsafe operation.layer?.grantedStartHeldBack()
        return done.report(.heldBack, of: operation)
      }
      let isEnd = start(operation, as: occupant)
      done.report(.startReturned(isEnd: isEnd), of: operation)
    case .startLayered(let member):
      unsafe member._withUnsafeGuaranteedRef { operation in
        let event = isHeldBack(operation) ? .heldBack : startIfAllowed(operation, as: occupant)
        done.report = .init(event, of: operation)
      }
    case .startAfterWait(let member):
      unsafe member._withUnsafeGuaranteedRef { operation in
        let event =
          isHeldBack(operation)
          ? .heldBack : startIfAllowed(operation, hasWaited: true, as: occupant)
        done.report = .init(event, of: operation)
      }
    case .startUnasked(let member):
      unsafe member._withUnsafeGuaranteedRef { operation in
        let event: SchedulerState.Event =
          isHeldBack(operation)
          ? .heldBack : .startReturned(isEnd: start(operation, as: occupant))
        done.report = .init(event, of: operation)
      }
    case .start(let retained):
      let operation = unsafe retained.takeRetainedValue()
      if isHeldBack(operation) { return done.report(.heldBack, of: operation) }
      done.report(startIfAllowed(operation, as: occupant), of: operation)
    }
  }

  /// Has an operation's conditions evaluated, and runs the beginning of the task that does so, if
  /// that was left for this worker.
  ///
  /// Not in the name of the queue's one service worker: it may take its time.
  private func evaluate(
    _ operation: Operation,
    as occupant: ThreadOccupant,
    _ done: inout Done
  ) {
    let since = state.withLock {
      operation.scheduling.isAskedAfterWait ? $0.answerStamp : nil
    }
    occupant.question = .init(operation: operation)
    unsafe operation.layer?.dependenciesDidFinish()
    var event = SchedulerState.Event.asked
    if let beginning = occupant.takeBeginning() {
      done.report = .init(.asked)
      leave(&done)
      BodyExecutor.run(beginning)
      event = .cameBack
    }
    guard let question = occupant.question.take(), var answer = question.answer else {
      done.report = .init(event)
      return
    }
    answer.since = since
    done.report = .init(event, of: operation, answer: answer)
    done.operation = operation
  }

  /// Whether a dependency was added since the start was decided.
  private func isHeldBack(_ operation: Operation) -> Bool {
    operation.readiness.current.progress == .none && !operation.isCancelledFlag
      && operation.life.current.phase <= .enqueued
  }

  /// Starts an operation of which everything is known: not a subclass, so nothing is overridden.
  ///
  /// Its end is reported to the queue with the worker's next question, in one step instead of two:
  /// half of the cost of an empty block was the second lock and the calls around it (callgrind).
  private func startKnown(
    _ operation: Operation,
    as occupant: ThreadOccupant,
    _ done: inout Done
  ) {
    if isHeldBack(operation) { return done.report(.heldBack, of: operation) }
    guard operation.life.step({ $0.turnCameToMain() }) else {
      // It was cancelled, and may leave in its `start()`: retained before.
      done.operation = operation
      done.report = .init(startIfAllowed(operation, as: occupant), of: operation)
      return
    }
    operation.valuesMayHaveChanged()
    occupant.operation = operation
    unsafe unsafeDowncast(operation, to: BlockOperation.self).runBlocks()
    occupant.operation = nil
    operation.life.step { $0.mainReturnedForGood() }
    operation.closeAsWorker(leaving: &done.ending, in: self)
    done.report = .init(.ended(hasCompletion: done.ending.hasCompletion), of: operation)
    // The queue may have been the only one to keep it, and lets go of it before the rest is done.
    if done.ending.needsOperation { done.operation = operation }
  }

  private func startIfAllowed(
    _ operation: Operation,
    hasWaited: Bool = false,
    as occupant: ThreadOccupant
  ) -> SchedulerState.Event {
    switch gate(operation, hasWaited: hasWaited) {
    case .run: return .startReturned(isEnd: start(operation, as: occupant))
    case .park: return .parked
    case .skip: return .skipped
    }
  }

  private func gate(_ operation: Operation, hasWaited: Bool) -> StartDecision {
    if operation.isCancelledFlag { return .run }
    if let layer = unsafe operation.layer { return layer.decideStart(hasWaited: hasWaited) }
    return operation.isReady ? .run : .park
  }

  /// Returns whether the operation has ended and the queue doesn't know it.
  private func start(_ operation: Operation, as occupant: ThreadOccupant) -> Bool {
    switch operation.life.step({ $0.turnCame() }) {
    case .leave: return false
    case .goOn:
      // Before its code runs, which is what may hold others up from here on.
      state.withLock { $0.wentOn(operation) }
      unsafe operation.layer?.turnCameAgain()
      return false
    case .callStart:
      occupant.operation = operation
      operation.start()
      operation.lookForFinish()
      occupant.operation = nil
      return exchange(&occupant.leavesEnd, with: false)
    }
  }
}
