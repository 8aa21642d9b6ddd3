import Synchronization

/// What workers do: ask what is next, run it, and say with the next question what came of it.
extension Scheduler {
  /// What a worker does on an executor that decides every step: decides on one thing, and has that
  /// done as another step.
  func decide(_ generation: Int, _ executor: any SteppedExecutor) {
    let (step, effects) = state.withLock { $0.nextStep(after: .init(.began), by: generation) }
    let owner = owner
    perform(effects)
    guard let described = step.described(by: self) else { return }
    executor.enqueue(described) {
      ThreadOccupant.with(queue: owner) { occupant in
        var done = self.perform(step, as: occupant)
        self.perform(self.state.withLock { $0.shareUsedUp(after: done.report) })
        done.proceed()
      }
    }
  }

  /// What a worker does: takes steps until there is none, or its share is used up.
  func work(_ generation: Int) {
    ThreadOccupant.with(queue: nil) { work(generation, as: $0) }
  }

  private func work(_ generation: Int, as occupant: ThreadOccupant) {
    var done = Done(.init(.began))
    let executor = executor
    let turn = WorkerTurn(on: executor)
    var share = max(1, executor.operationsPerWorker)
    // Keeps the queue alive for those who ask for the current one. Known from the first step on: a
    // queue that was empty when its worker came has no owner yet.
    var owner: OperationQueue?
    defer { withExtendedLifetime(owner) { unsafe occupant.queue = nil } }
    while true {
      if share == 0 || owner != nil && turn.isOver {
        perform(state.withLock { $0.shareUsedUp(after: done.report) })
        done.proceed()
        return
      }
      let mayLinger = if case .lingered = done.report.event { false } else { turn.mayLinger }
      let (step, effects) = state.withLock { state in
        let next = state.nextStep(after: done.report, by: generation, mayLinger: mayLinger)
        if case .linger = next.0 { hasNews.store(false, ordering: .relaxed) }
        return next
      }
      perform(effects)
      done.proceed()
      switch step {
      case .leave: return
      case .linger:
        turn.linger { hasNews.load(ordering: .relaxed) }
        done = Done(.init(.lingered))
        continue
      case .evaluate, .review, .startAhead, .start, .startGranted, .barrier: break
      }
      if owner == nil {
        owner = self.owner
        unsafe occupant.queue = owner
      }
      done = perform(step, as: occupant)
      share -= 1
    }
  }

  /// What a worker has done.
  ///
  /// Not copyable, because the compiler otherwise copied it at each step: 14 of the 47 changes of a
  /// reference count that an empty block cost (callgrind).
  private struct Done: ~Copyable {
    let report: SchedulerState.Report
    /// What the report is about; kept alive until that is read.
    private var operation: Operation?
    /// What its end leaves to do once the queue knows of it.
    private var ending: Operation.Ending?

    init(
      _ report: consuming SchedulerState.Report,
      of operation: consuming Operation? = nil,
      leaving ending: consuming Operation.Ending? = nil
    ) {
      self.report = report
      self.operation = operation
      self.ending = ending
    }

    /// The report was read: does the rest, and lets go of the operation.
    mutating func proceed() {
      guard let operation = operation.take() else { return }
      ending.take()?.proceed(from: operation)
    }
  }

  private func perform(_ step: SchedulerState.Step, as occupant: ThreadOccupant) -> Done {
    switch step {
    case .leave, .linger: trap("a worker was to perform nothing")
    case .barrier(let block):
      block()
      return Done(.init(.barrierReturned))
    case .evaluate(let operation):
      unsafe operation.layer?.dependenciesDidFinish()
      return Done(.init(.asked))
    case .review(let operation):
      unsafe operation.layer?.reviewBeforeReoffer()
      return Done(.init(.asked))
    case .startAhead(let retained):
      let operation = unsafe retained.takeRetainedValue()
      start(operation, as: occupant)
      return Done(.init(.startedAhead, of: operation), of: operation)
    case .startGranted(let retained):
      let operation = unsafe retained.takeRetainedValue()
      if isHeldBack(operation) {
        unsafe operation.layer?.grantedStartHeldBack()
        return Done(.init(.heldBack, of: operation), of: operation)
      }
      start(operation, as: occupant)
      return Done(.init(.startReturned, of: operation), of: operation)
    case .start(let retained):
      let operation = unsafe retained.takeRetainedValue()
      if isHeldBack(operation) { return Done(.init(.heldBack, of: operation), of: operation) }
      guard var ending = runWhole(operation, as: occupant) else {
        return Done(.init(startIfAllowed(operation, as: occupant), of: operation), of: operation)
      }
      let released = ending.takeOwnReady()
      let event = SchedulerState.Event.ended(hasCompletion: ending.hasCompletion)
      return Done(
        .init(event, of: operation, releasing: released),
        of: operation,
        leaving: ending
      )
    }
  }

  /// Whether a dependency was added since the start was decided.
  private func isHeldBack(_ operation: Operation) -> Bool {
    operation.readiness.current.progress == .none && !operation.isCancelledFlag
  }

  /// Starts an operation of which everything is known: not a subclass, so nothing is overridden.
  ///
  /// Its end is reported to the queue with the worker's next question, in one step instead of two: half
  /// of the cost of an empty block was the second lock and the calls around it (callgrind).
  private func runWhole(
    _ operation: Operation,
    as occupant: ThreadOccupant
  ) -> Operation.Ending? {
    guard type(of: operation) == BlockOperation.self, operation.life.step({ $0.turnCameToMain() })
    else { return nil }
    operation.valuesMayHaveChanged()
    unsafe occupant.operation = operation
    unsafe unsafeDowncast(operation, to: BlockOperation.self).runBlocks()
    unsafe occupant.operation = nil
    operation.life.step { $0.mainReturnedForGood() }
    return operation.close()
  }

  private func startIfAllowed(
    _ operation: Operation,
    as occupant: ThreadOccupant
  ) -> SchedulerState.Event {
    switch gate(operation) {
    case .run:
      start(operation, as: occupant)
      return .startReturned
    case .park: return .parked
    case .skip: return .skipped
    }
  }

  private func gate(_ operation: Operation) -> StartDecision {
    if operation.isCancelledFlag { return .run }
    if let layer = unsafe operation.layer { return layer.decideStart() }
    return operation.isReady ? .run : .park
  }

  private func start(_ operation: Operation, as occupant: ThreadOccupant) {
    switch operation.life.step({ $0.turnCame() }) {
    case .leave: return
    case .callStart:
      unsafe occupant.operation = operation
      operation.start()
      operation.lookForFinish()
      unsafe occupant.operation = nil
    }
  }
}
