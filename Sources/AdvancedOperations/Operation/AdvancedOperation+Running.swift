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
    if needsTelling && old != new { stateChanged(to: new) }
    return result
  }

  private func stateChanged(to state: State) {
    core.withLock { $0.environment }?.tracer?.operation(self, entered: state)
    updateTimers(entering: state)
  }

  // MARK: Starting

  /// Its queue has decided to start it.
  final func takeTurn() {
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
    case .reject(let mistake): trap(mistake.sentence(about: self))
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

  private func takeClaimsByHand() {
    switch decideStart() {
    case .run, .skip: takeTurnByHand()
    case .park: return
    }
  }

  /// Runs an operation without a queue; whoever comes first does.
  final func takeTurnByHand() {
    if core.withLock({ $0.machine.state < .executing }) { takeTurn() }
  }

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
  final func complete() {
    let (isQuiet, after) = change { core in
      let isQuiet = core.machine.didFinishDelivered()
      core.observers = []
      core.conditions = []
      let after = core.extra?.afterFinished ?? []
      core.extra?.afterFinished = []
      core.extra?.helpers = []
      core.extra?.evaluation = nil
      return (isQuiet, after)
    }
    releaseResources()
    reportFinished()
    for body in after { body() }
    if isQuiet { becomeQuiet() }
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
