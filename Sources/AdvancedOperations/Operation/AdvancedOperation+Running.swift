import CoreOperations

extension AdvancedOperation {
  /// Changes the core, and afterwards notifies the environment if the state has changed.
  final func change<Result: ~Copyable>(
    _ body: (inout AdvancedCore) -> Result
  ) -> Result {
    var entered: State?
    var needsTelling = false
    let result = withCore { core in
      let old = core.machine.state
      let result = body(&core)
      if core.machine.state != old { entered = core.machine.state }
      needsTelling = entered.map { core.isOfInterest($0) } ?? false
      return result
    }
    if let entered {
      // The report of the end covers finished: an observer of properties may wait for the
      // operation.
      if entered != .finished { propertiesMayHaveChanged() }
      if needsTelling { stateChanged(to: entered) }
    }
    return result
  }

  private func stateChanged(to state: State) {
    let environment = environment
    let now = StateTimes.hasPlace(for: state) ? environment.clock.now : nil
    let hasTimers = withCore { core in
      // A cancel makes an operation ready, whatever it waits for.
      let isCancelled = state == .ready && core.machine.isCancelled
      if let now, !isCancelled { core.extra?.stateTimes.entered(state, at: now) }
      return core.hasTimers
    }
    if environment.isTraced { environment.tracer?.operation(self, entered: state) }
    if hasTimers { updateTimers(entering: state) }
  }

  // MARK: Starting

  /// Its queue has decided to start it.
  final func takeTurn() {
    let context = CallContext.current
    var isTraced = false
    var telling: Telling?
    let turn = change { core in
      isTraced = core.environment?.isTraced == true
      let turn = core.turnCame(isObserved: wasObserved || isTraced)
      // Observers of properties, and the tracer, are notified first, and may wait for events that
      // follow from that. An observer that is added after this finds the state changed, and isn't
      // called.
      if turn == .deliver, !wasObserved, !isTraced, !context.isUsedUp {
        telling = core.beginTelling(inside: context.delivery)
      }
      return turn
    }
    switch turn {
    case .none: return
    case .run(let hasRollbacks): runBody(hasRollbacks: hasRollbacks)
    case .deliver:
      let mustLaunch =
        if let telling { deliver(telling, in: context, launchesHere: true) } else {
          deliver(launchesHere: true)
        }
      guard mustLaunch else { return }
      if isTraced { runTracedBody() } else { runDueBody() }
    case .reject(let mistake): trap(mistake.sentence(about: self))
    }
  }

  /// Runs the body, or has that done later if a simulation wants it so.
  private func runTracedBody() {
    let environment = environment
    guard let delay = environment.tracer?.delayOfBody(of: self) else { return runDueBody() }
    withCore { $0.holdsQuiet = true }
    holdQuiet()
    _ = environment.clock.schedule(at: environment.clock.now.saturatingAdding(delay)) {
      self.runDueBody()
    }
  }

  /// Calls `execute()` after observers were notified of the start, unless one has ended the
  /// operation.
  final func runDueBody() {
    if withCore({ $0.machine.isBodyDue }) { runBody() } else { bodyEnded() }
  }

  /// Calls `execute()`; the machine has counted it as a body.
  ///
  /// - Parameter hasRollbacks: Whether there may be something that undoes the work.
  final func runBody(hasRollbacks: Bool = true) {
    if hasRollbacks { registerRollbacks() }
    ThreadContext.runBody(of: self) { execute() }
    bodyEnded()
  }

  /// A body goes on after `execute()` returned; ``bodyEnded()`` follows.
  final func bodyBegan() {
    let isOver = withCore { core in
      core.machine.bodyBegan()
      core.holdsQuiet = true
      return core.machine.state == .finished
    }
    // Before its end the queue gives nothing back, and learns of the hold together with the end.
    if isOver { holdQuiet() }
  }

  /// A body goes on that began on the stack of `execute()`; ``bodyLeftStack()`` and ``bodyEnded()``
  /// follow.
  final func bodyBeganOnStack() { withCore { $0.machine.bodyBegan() } }

  /// A body that began on the stack of `execute()` leaves that, and may have ended.
  ///
  /// Until then the queue gives nothing back anyway.
  final func bodyLeftStack() {
    let isOver = withCore { core in
      guard core.machine.hasOtherBody else { return false }
      core.holdsQuiet = true
      return core.machine.state == .finished
    }
    if isOver { holdQuiet() }
  }

  final func bodyEnded() {
    var isQuiet = false
    let loans = withCore { core -> Telling.Loans? in
      isQuiet = core.machine.bodyEnded()
      return isQuiet ? core.takeLoans() : nil
    }
    if isQuiet { becomeQuiet(loans) }
  }

  /// Finished, and no body is going on: gives back all that it held, and releases what was attached
  /// and what the work needed.
  ///
  /// Not before: an object of the program that is released may wait for the end in its `deinit`.
  final func becomeQuiet(_ loans: consuming Telling.Loans?) {
    if let loans = consume loans {
      giveBack(loans)
      loans.attached?.removeObservers()
    }
    releaseResources()
  }

  /// A simulation may have that done later: on threads, dependents may start before it is done.
  private func giveBack(_ loans: borrowing Telling.Loans) {
    let hasClaims = !loans.claims.isEmpty
    let domain = hasClaims ? loans.domain ?? OperationEnvironment.default.exclusivity : nil
    let (holdsQuiet, afterQuiet) = (loans.holdsQuiet, loans.afterQuiet)
    if let tracer = loans.tracer, domain != nil || !afterQuiet.isEmpty {
      // Until this returned to the worker, the slot would have been kept anyway.
      if !holdsQuiet { holdQuiet() }
      tracer.operationBecomesQuiet(self) { self.giveBack(to: domain, true, afterQuiet) }
    } else {
      giveBack(to: domain, holdsQuiet, afterQuiet)
    }
  }

  private func giveBack(
    to domain: ExclusivityDomain?,
    _ holdsQuiet: Bool,
    _ afterQuiet: [@Sendable (AdvancedOperation) -> Void]
  ) {
    domain?.release(self)
    if holdsQuiet { releaseQuiet() }
    if !afterQuiet.isEmpty { follow { for body in afterQuiet { body(self) } } }
  }

  /// The program calls `start()`, outside of a queue.
  ///
  /// With something to evaluate or to claim, a queue of its own starts the operation: unlimited, and
  /// hidden from the program. Otherwise the operation runs here.
  final func startManually() {
    let hasFinished = dependenciesAreFinished
    let hasInputs = hasInputs
    if isUnclaimed {
      let observers = withCore { $0.environment }?.observers ?? []
      for entry in observers { addObserver(entry.value) }
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

  // MARK: Finishing

  final func finish(
    withElements elements: [OperationFailure.Element],
    calling call: String = "finish()"
  ) {
    switch end({ $0.machine.finishCalled(elements) }) {
    case .finish, .ignore: return
    case .reject(let mistake): trap(mistake.sentence(about: self, calling: call))
    }
  }

  /// Finishes unless that would be a failure or a cancellation.
  ///
  /// One step, because a cancel may come between a look at the flag and the finish.
  ///
  /// - Parameter alongside: Called in the same step if so, under the operation's lock.
  /// - Returns: Whether it did.
  final func finishAsSuccess(_ alongside: () -> Void) -> Bool {
    let action = end { core in
      if core.machine.isCancelled || !core.machine.elements.isEmpty { return .ignore }
      let action = core.machine.finishCalled([])
      if action == .finish { alongside() }
      return action
    }
    return action == .finish
  }

  private func end(
    _ decide: (inout AdvancedCore) -> OperationStateMachine.FinishAction
  ) -> OperationStateMachine.FinishAction {
    let context = CallContext.current
    var telling: Telling?
    var isObserved = false
    let action = change { core in
      let action = decide(&core)
      if action == .finish {
        // Observers of properties are notified first, as when the operation's turn comes.
        isObserved = wasObserved || context.isUsedUp
        if isObserved {
          core.appendEnd()
        } else {
          telling = core.beginTellingEnd(inside: context.delivery)
        }
      }
      return action
    }
    if let telling { deliver(telling, in: context) } else if isObserved { deliver() }
    return action
  }

  /// Runs a closure when the operation is finished; at once if it is.
  final func afterFinished(_ body: @escaping @Sendable () -> Void) {
    let isOver = withCore { core in
      if core.machine.state == .finished { return true }
      core.makeExtra().afterFinished.append(body)
      return false
    }
    if isOver { body() }
  }

  /// Runs a closure when the operation is quiet; at once if it is.
  ///
  /// - Parameter body: Gets the operation, which its queue has let go of by then.
  package final func afterQuiet(_ body: @escaping @Sendable (AdvancedOperation) -> Void) {
    let isOver = withCore { core in
      if core.machine.isQuiet { return true }
      core.makeExtra().afterQuiet.append(body)
      return false
    }
    if isOver { body(self) }
  }
}

extension AdvancedCore {
  /// What to do when a turn has come.
  fileprivate enum Turn: Equatable {
    case run(hasRollbacks: Bool)
    /// The start, or the end, is in the line.
    case deliver
    case none
    case reject(OperationStateMachine.Mistake)
  }

  /// A turn has come.
  ///
  /// - Parameter isObserved: Whether something besides observers sees the operation begin.
  /// - Returns: What to do.
  fileprivate mutating func turnCame(isObserved: Bool) -> Turn {
    if machine.state == .finished { return .none }
    switch machine.turnCame() {
    case .begin:
      // Nothing is called before the body, so nothing can come in between: the same step decides.
      if observers.isEmpty, line.isEmpty, !line.isDelivering, !isObserved {
        guard machine.launchDue() == .execute else { trap("a launch that isn't due") }
        return .run(hasRollbacks: extra?.rollbacks.isEmpty == false)
      }
      line.append(.started)
    case .finish: appendEnd()
    case .reject(let mistake): return .reject(mistake)
    }
    return .deliver
  }
}
