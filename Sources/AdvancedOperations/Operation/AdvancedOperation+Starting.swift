import CoreOperations

extension AdvancedOperation {
  /// Starts the operation, because its queue has decided to start it.
  final func takeTurn() { takeTurn(checksDeadline: true) }

  private func takeTurn(checksDeadline: Bool) {
    let turn = changeAndDeliver(startsOperation: true) { core in
      // The check reads the clock, which may be code of the program, so it isn't in this step.
      if checksDeadline, core.extra?.earliestDeadline != nil {
        return AdvancedCore.Turn.checkDeadline
      }
      return core.turnCame(isObserved: wasObserved || core.environment?.isTraced == true)
    }
    switch turn {
    case .none, .deliver: return
    case .checkDeadline:
      // The timer may be late, for example because the machine has slept.
      cancelIfLate()
      takeTurn(checksDeadline: false)
    case .run(let hasRollbacks): runBody(hasRollbacks: hasRollbacks)
    case .reject(let mistake): trap(mistake.sentence(about: self))
    }
  }

  /// Runs the body after observers were notified of the start, or later if a simulation delays it.
  final func runBodyInTime() {
    guard let delay = withCore({ $0.tracer })?.delayOfBody(of: self) else { return runDueBody() }
    withCore { $0.machine.bodySent() }
    holdUntilIdle()
    let environment = environment
    _ = environment.clock.schedule(at: environment.clock.now.saturatingAdding(delay)) {
      self.runDueBody()
    }
  }

  /// Calls `execute()` after observers were notified of the start, unless an observer has ended the
  /// operation.
  final func runDueBody() {
    let (isDue, hasRollbacks) = withCore { ($0.machine.isBodyDue, $0.hasRollbacks) }
    if isDue { runBody(hasRollbacks: hasRollbacks) } else { bodyEnded() }
  }

  /// Calls `execute()`, which the machine has counted as a body.
  ///
  /// - Parameter hasRollbacks: A Boolean value that indicates whether rollbacks may have to be registered.
  final func runBody(hasRollbacks: Bool) {
    if hasRollbacks { registerRollbacks() }
    ThreadContext.runBody(of: self) { execute() }
    bodyEnded()
  }

  /// Records that a body keeps running after `execute()` returned.
  ///
  /// A call of ``bodyEnded()`` follows.
  final func bodyBegan() {
    let isOver = withCore { core in
      core.machine.bodyBegan()
      return core.machine.state == .finished
    }
    // If the operation hasn't ended, its queue releases nothing, and learns of the hold together with the
    // end.
    if isOver { holdUntilIdle() }
  }

  /// Records that a body began on the stack of `execute()`.
  ///
  /// Calls of ``bodyLeftStack()`` and ``bodyEnded()`` follow.
  final func bodyBeganOnStack() { withCore { $0.machine.bodyBegan(isOnStack: true) } }

  /// Records that a body that began on the stack of `execute()` has left the stack, and may have ended.
  ///
  /// Until then the queue keeps the slot and the membership anyway.
  final func bodyLeftStack() {
    let isOver = withCore { core in
      core.machine.bodyLeftStack() && core.machine.state == .finished
    }
    if isOver { holdUntilIdle() }
  }

  /// Starts the operation because the program calls `start()`, outside of a queue.
  ///
  /// If there are conditions to evaluate or claims to acquire, a separate queue starts the operation. The
  /// separate queue is unlimited and hidden from the program. Otherwise the operation runs here.
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
      // If a queue of the program has the operation, this call traps with a message about that.
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
  /// The step that follows when the operation is started.
  fileprivate enum Turn: Equatable {
    case run(hasRollbacks: Bool)
    /// The deadline has to be checked first.
    case checkDeadline
    /// The start or the end was appended to the events, which have to be delivered.
    case deliver
    case none
    case reject(OperationStateMachine.Mistake)
  }

  /// Records that the operation is started.
  ///
  /// - Parameter isObserved: A Boolean value that indicates whether other objects than observers have to be
  ///   notified of the start.
  /// - Returns: The step that follows.
  fileprivate mutating func turnCame(isObserved: Bool) -> Turn {
    if machine.phase == .finished { return .none }
    switch machine.turnCame() {
    case .begin:
      // No code is called before the body, so no other event can occur in between, and the same step decides.
      if !isStartNoticed, delivery.isEmpty, !delivery.isDelivering, !isObserved {
        guard machine.launchDue() == .execute else {
          internalError("an operation was launched before its launch was due")
        }
        return .run(hasRollbacks: hasRollbacks)
      }
      delivery.append(.started)
    case .decided: appendEnd()
    case .reject(let mistake): return .reject(mistake)
    }
    return .deliver
  }
}
