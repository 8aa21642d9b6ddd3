import CoreOperations

extension AdvancedOperation {
  /// Changes the core, and afterwards tells the environment if the state has changed.
  final func change<Result>(_ body: (inout AdvancedCore) -> Result) -> Result {
    let (result, old, new, needsTelling) = core.withLock { core in
      let old = core.machine.state
      let result = body(&core)
      let needsTelling = core.extra != nil || core.environment?.tracer != nil
      return (result, old, core.machine.state, needsTelling)
    }
    if old != new {
      valuesMayHaveChanged()
      if needsTelling { stateChanged(to: new) }
    }
    return result
  }

  private func stateChanged(to state: State) {
    core.withLock { $0.environment }?.tracer?.operation(self, entered: state)
    updateTimers(entering: state)
  }

  // MARK: Starting

  /// Its queue has decided to start it.
  ///
  /// - Parameter isOneOfSeveral: Whether somebody else may have come first, and that is no mistake.
  final func takeTurn(isOneOfSeveral: Bool = false) {
    enum Next {
      case run, deliver
      case reject(OperationStateMachine.Mistake)
    }
    let next = change { core -> Next in
      switch core.machine.turnCame() {
      case .begin:
        if core.observers.isEmpty && core.line.isEmpty && !core.line.isDelivering {
          // Nobody to tell, so nothing can have come in between.
          _ = core.machine.launchDue()
          return .run
        }
        core.line.append(.started)
        core.line.append(.launch)
        return .deliver
      case .finish:
        core.appendEnd()
        return .deliver
      case .reject(let mistake): return .reject(mistake)
      }
    }
    switch next {
    case .run: runBody()
    case .deliver: if deliver(launchesHere: true) { runBody() }
    case .reject(let mistake): if !isOneOfSeveral { trap(mistake.sentence(about: self)) }
    }
  }

  /// Calls `execute()`; the machine has counted it as a body.
  final func runBody() {
    let outer = Self.threadCurrent.value
    Self.threadCurrent.value = self
    execute()
    Self.threadCurrent.value = outer
    bodyEnded()
  }

  /// A body goes on after `execute()` returned; ``bodyEnded()`` follows.
  final func bodyBegan() {
    core.withLock { core in
      core.machine.bodyBegan()
      core.holdsQuiet = true
    }
    holdQuiet()
  }

  final func bodyEnded() {
    if core.withLock({ $0.machine.bodyEnded() }) { becomeQuiet() }
  }

  final func startByHand() {
    let hasFinished = dependenciesAreFinished
    let hasInputs = hasInputs
    switch beginByHand() {
    case .begin: break
    case .ignore: return
    case .reject(let mistake): trap(mistake.sentence(about: self))
    }
    let action = change { core in
      core.machine.startCalledByHand(
        hasConditions: !core.conditions.isEmpty || hasInputs,
        hasClaims: !core.claims.isEmpty,
        dependenciesAreFinished: hasFinished
      )
    }
    switch action {
    case .ignore: return
    case .reject(let mistake): trap(mistake.sentence(about: self))
    case .evaluate: environment.enqueue { self.goOnByHand() }
    case .proceed: takeTurn()
    }
  }

  /// On the executor: asks what is left to ask, then runs.
  final func goOnByHand() {
    switch core.withLock({ $0.machine.state }) {
    case .evaluatingConditions: beginEvaluation()
    case .pending, .ready: takeClaimsByHand()
    case .executing, .finishing, .finished: return
    }
  }

  /// Asks immediate conditions again after a wait for a claim, and tries to take it.
  final func reviewByHand() {
    if review() { takeTurnByHand() } else { takeClaimsByHand() }
  }

  private func takeClaimsByHand() {
    switch decideStart() {
    case .run, .skip: takeTurnByHand()
    case .park: return
    }
  }

  /// Runs an operation without a queue; whoever comes first does.
  final func takeTurnByHand() { takeTurn(isOneOfSeveral: true) }

  // MARK: Finishing

  final func finish(withElements elements: [OperationFailure.Element], notRunCount: Int = 0) {
    let action = change { core in
      let action = core.machine.finishCalled(elements, notRunCount: notRunCount)
      if action == .finish { core.appendEnd() }
      return action
    }
    switch action {
    case .finish: deliver()
    case .ignore: return
    case .reject(let mistake): trap(mistake.sentence(about: self))
    }
  }

  /// Finishes unless that would be a failure or a cancellation; returns whether it did.
  ///
  /// Whether an operation was cancelled can be asked before, but not be relied on afterwards.
  final func finishAsSuccess() -> Bool {
    let didFinish = change { core in
      guard !core.machine.isCancelled, core.machine.elements.isEmpty,
        core.machine.finishCalled([]) == .finish
      else { return false }
      core.appendEnd()
      return true
    }
    if didFinish { deliver() }
    return didFinish
  }

  /// Did-finish was delivered: the state turns finished and everything that waited goes on.
  ///
  /// - Parameters:
  ///   - told: The last observer that was told; those that came meanwhile are told first.
  ///   - errors: What they are told.
  final func complete(told: UInt32, _ errors: [any Error]) {
    var told = told
    while let latecomer = core.withLock({ $0.observers.first { $0.id > told } }) {
      latecomer.observer.operationDidFinish(self, errors: errors)
      told = latecomer.id
    }
    // Let go of after unlocking: what was attached may be released here, and do whatever it likes.
    let (after, garbage) = change { core in
      // One that comes between the last look and this.
      for entry in core.observers where entry.id > told {
        core.line.append(.lateFinish(entry.observer, errors))
      }
      core.machine.didFinishDelivered()
      let garbage = (
        core.observers, core.conditions, core.extra?.helpers, core.extra?.evaluation
      )
      core.observers = []
      core.conditions = []
      let after = core.extra?.afterFinished ?? []
      core.extra?.afterFinished = []
      core.extra?.helpers = []
      core.extra?.evaluation = nil
      return (after, garbage)
    }
    withExtendedLifetime(garbage) {}
    releaseResources()
    reportFinished()
    for body in after { body() }
    bodyEnded()
  }

  /// Finished, and no body is going on: gives back all that it held.
  final func becomeQuiet() {
    let (claims, after, holdsQuiet, domain) = core.withLock { core in
      let claims = core.claims
      core.claims = []
      let after = core.extra?.afterQuiet ?? []
      core.extra?.afterQuiet = []
      let holdsQuiet = core.holdsQuiet
      core.holdsQuiet = false
      return (claims, after, holdsQuiet, core.environment?.exclusivity)
    }
    if !claims.isEmpty { (domain ?? OperationEnvironment.default.exclusivity).release(self) }
    if holdsQuiet { releaseQuiet() }
    for body in after { body() }
    letGoOfQueue()
  }

  /// Runs a closure when the operation is finished; at once if it is.
  final func afterFinished(_ body: @escaping @Sendable () -> Void) {
    let isOver = core.withLock { core in
      if core.machine.state == .finished { return true }
      core.makeExtra().afterFinished.append(body)
      return false
    }
    if isOver { body() }
  }

  /// Runs a closure when the operation is quiet; at once if it is.
  final func afterQuiet(_ body: @escaping @Sendable () -> Void) {
    let isOver = core.withLock { core in
      if core.machine.isQuiet { return true }
      core.makeExtra().afterQuiet.append(body)
      return false
    }
    if isOver { body() }
  }
}
