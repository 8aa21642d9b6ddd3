import CoreOperations

extension AdvancedOperation {
  /// Its queue has decided to start it.
  final func takeTurn() {
    let turn = changeAndDeliver(startsOperation: true) { core in
      core.turnCame(isObserved: wasObserved || core.environment?.isTraced == true)
    }
    switch turn {
    case .none, .deliver: return
    case .run(let hasRollbacks): runBody(hasRollbacks: hasRollbacks)
    case .reject(let mistake): trap(mistake.sentence(about: self))
    }
  }

  /// Runs the body after observers were notified of the start, or later if a simulation wants it so.
  final func runBodyInTime() {
    guard let delay = withCore({ $0.tracer })?.delayOfBody(of: self) else { return runDueBody() }
    withCore { $0.machine.bodySent() }
    holdUntilIdle()
    let environment = environment
    _ = environment.clock.schedule(at: environment.clock.now.saturatingAdding(delay)) {
      self.runDueBody()
    }
  }

  /// Calls `execute()` after observers were notified of the start, unless one has ended the
  /// operation.
  final func runDueBody() {
    let (isDue, hasRollbacks) = withCore { ($0.machine.isBodyDue, $0.hasRollbacks) }
    if isDue { runBody(hasRollbacks: hasRollbacks) } else { bodyEnded() }
  }

  /// Calls `execute()`; the machine has counted it as a body.
  ///
  /// - Parameter hasRollbacks: Whether there may be something that undoes the work.
  final func runBody(hasRollbacks: Bool) {
    if hasRollbacks { registerRollbacks() }
    ThreadContext.runBody(of: self) { execute() }
    bodyEnded()
  }

  /// A body goes on after `execute()` returned; ``bodyEnded()`` follows.
  final func bodyBegan() {
    let isOver = withCore { core in
      core.machine.bodyBegan()
      return core.machine.state == .finished
    }
    // Before its end the queue gives nothing back, and learns of the hold together with the end.
    if isOver { holdUntilIdle() }
  }

  /// A body goes on that began on the stack of `execute()`; ``bodyLeftStack()`` and ``bodyEnded()``
  /// follow.
  final func bodyBeganOnStack() { withCore { $0.machine.bodyBegan(isOnStack: true) } }

  /// A body that began on the stack of `execute()` leaves that, and may have ended.
  ///
  /// Until then the queue gives nothing back anyway.
  final func bodyLeftStack() {
    let isOver = withCore { core in
      core.machine.bodyLeftStack() && core.machine.state == .finished
    }
    if isOver { holdUntilIdle() }
  }

  /// The program calls `start()`, outside of a queue.
  ///
  /// With something to evaluate or to claim, a queue of its own starts the operation: unlimited, and
  /// hidden from the program. Otherwise the operation runs here.
  final func startManually() {
    let hasFinished = dependenciesAreFinished
    let hasInputs = hasInputs
    if isUnclaimed {
      if let environment = withCore({ $0.environment }) { attachObservers(of: environment) }
    }
    let now = environment.clock.nanoseconds
    let action = change { core in
      if !core.machine.isSubmitted { core.admittedAt = now }
      return core.machine.startedManually(
        hasConditions: !core.conditions.isEmpty || hasInputs || core.isJournaled,
        hasClaims: !core.claims.isEmpty,
        dependenciesAreFinished: hasFinished
      )
    }
    switch action {
    case .ignore: return
    case .reject(let mistake):
      // If a queue of the program has the operation, this traps and says so.
      if queue != nil { _ = beginManually() }
      trap(mistake.sentence(about: self))
    case .enqueue:
      checkDomainOfClaims()
      let executor = environment.executor ?? DefaultExecutor.forQueue()
      OperationQueue(hiddenOn: executor).addOperation(self)
    case .run: if beginManually() { takeTurn() }
    }
  }
}

extension AdvancedCore {
  /// What to do when a turn has come.
  fileprivate enum Turn: Equatable {
    case run(hasRollbacks: Bool)
    /// The start, or the end, was appended to the events.
    case deliver
    case none
    case reject(OperationStateMachine.Mistake)
  }

  /// A turn has come.
  ///
  /// - Parameter isObserved: Whether something besides observers sees the operation begin.
  /// - Returns: What to do.
  fileprivate mutating func turnCame(isObserved: Bool) -> Turn {
    if machine.phase == .finished { return .none }
    switch machine.turnCame() {
    case .begin:
      // Nothing is called before the body, so nothing can come in between: the same step decides.
      if !isStartNoticed, delivery.isEmpty, !delivery.isDelivering, !isObserved {
        guard machine.launchDue() == .execute else { trap("a launch that isn't due") }
        return .run(hasRollbacks: hasRollbacks)
      }
      delivery.append(.started)
    case .decided: appendEnd()
    case .reject(let mistake): return .reject(mistake)
    }
    return .deliver
  }
}
