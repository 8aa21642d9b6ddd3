package import CoreOperations

/// The requirements of ``LayeredOperation``, through which the queue reads and controls an advanced
/// operation.
extension AdvancedOperation: LayeredOperation {
  // MARK: Enqueueing

  package final func willEnqueue(in queue: OperationQueue) -> AdmissionTerms {
    // The manual start has already done the following steps.
    if queue.isHidden {
      let isHeld = withCore { $0.machine.state == .evaluatingConditions }
      return AdmissionTerms(isHeld: isHeld, needsDidEnqueue: false, isAskedAtStart: true)
    }
    let advanced = queue as? AdvancedOperationQueue
    var environment = advanced?.environment
    if let environment, environment.hasObservers { attachObservers(of: environment) }
    if let advanced, let delegate = advanced.delegate {
      let notifying = ThreadContext.beginHolding(self, by: .observer)
      delegate.operationQueue(advanced, willAdd: self)
      ThreadContext.endHolding(notifying)
    }
    if let environment, environment.isTraced { environment.tracer?.operationWillEnqueue(self) }
    let hasInputs = hasInputs
    let mayLackInput = hasInputs && self.mayLackInput
    let now = (environment?.clock ?? clock).nanoseconds
    let (hasConditions, hasClaims, isJournaled, isHeard, hasDeadline) = withCore { core in
      // The old environment is released without the lock.
      if environment != nil { swap(&core.environment, &environment) }
      core.machine.enqueued()
      core.admittedAt = now
      let hasConditions = !core.conditions.isEmpty
      // If a dependency is added from here on, the call that adds it watches it.
      let isHeard =
        core.isStartNoticed || !core.delivery.isEmpty || core.extra != nil
        || core.environment?.isTraced == true || core.mayHaveDelegate
        || hasConditions && !dependenciesAreFinished || mayLackInput
      // Notifying without observers cost a quarter of the operation's life (callgrind).
      if isHeard { core.delivery.append(.enqueued) }
      let hasDeadline = core.extra?.earliestDeadline != nil
      return (hasConditions, !core.claims.isEmpty, core.isJournaled, isHeard, hasDeadline)
    }
    if hasClaims { checkDomainOfClaims() }
    if hasDeadline { cancelIfLate(at: .nanoseconds(now)) }
    return AdmissionTerms(
      isHeld: hasConditions || hasInputs || isJournaled,
      needsDidEnqueue: isHeard,
      isAskedAtStart: hasClaims || hasConditions
    )
  }

  /// Attaches the observers that a queue, or an environment, attaches to all of its operations.
  final func attachObservers(of environment: OperationEnvironment) {
    for entry in environment.observers { addObserver(entry.value) }
  }

  package final func didEnqueue() {
    let (hasExtra, hasConditions, tracer, mayHaveDelegate) = withCore { core in
      (core.extra != nil, !core.conditions.isEmpty, core.tracer, core.mayHaveDelegate)
    }
    if hasExtra { updateTimers(entering: .pending) }
    tracer?.operation(self, entered: .pending)
    deliver()
    if hasConditions { watchDependencies() }
    watchInputs()
    if mayHaveDelegate, let queue = queue as? AdvancedOperationQueue {
      queue.delegate?.operationQueue(queue, didAdd: self)
    }
  }

  // MARK: Starting

  package final func decideStart() -> StartDecision { takeClaims() }
  package final func grantedStartBegins() -> StartDecision {
    guard evaluateAgain() == .waits, !isCancelled else { return .run }
    returnGrant()
    return .park
  }

  /// Passes the claims of the operation, and its permission to try a circuit, to other operations while it
  /// waits.
  package final func returnGrant() {
    let (hasClaims, conditions) = withCore { core in
      (!core.claims.isEmpty, core.hasBreakers ? core.conditions : [])
    }
    if hasClaims { environment.claimDomain.returnGrant(self) }
    for breaker in conditions.flatMap(\.breakers) { breaker.withdraw(self) }
  }

  package final func turnCameAgain() { nextAttemptMayBegin() }
  package final func waitsForSlot(_ waits: Bool) { measuresProgress(!waits) }

  // MARK: Cancelling

  package final func cancelSilently(reason: (any Error)?) {
    holdEvents()
    cancel(forwarding: reason)
  }

  /// Delays the delivery of events until ``deliverEvents()`` is called.
  final func holdEvents() { withCore { $0.delivery.sweepBegan() } }

  package final func cancelAsMember(of cycle: OperationCycleError) { cancel(withError: cycle) }

  package final var reasonOfCancel: (any Error)? { withCore { $0.machine.cancellationReason } }

  package final func deliverEvents() {
    withCore { $0.delivery.sweepEnded() }
    deliver()
  }

  package final func releaseAsAbandoned() {
    let (observers, conditions, extra) = withCore { core in
      (
        exchange(&core.observers, with: []), exchange(&core.conditions, with: []),
        core.extra.map { extra in
          (exchange(&extra.rollbacks, with: []), exchange(&extra.afterIdle, with: []))
        }
      )
    }
    for observation in observers { observation.remove() }
    withExtendedLifetime((conditions, extra)) {}
    childRunner?.abandoned()
    releaseResources()
  }

  package final func breakCycle(_ cycle: [Operation]) -> Bool { breakCycleOfClaims(cycle) }

  // MARK: Waits

  /// The group that the operation is a child of, until the group executes.
  package final var awaitedParent: Operation? {
    parent.flatMap { $0.isPastItsTurn ? nil : $0 }
  }

  package final var isAwaitedInLayer: Bool {
    childRunner?.hasWaitingChildren ?? false
  }

  package final var isIdle: Bool { withCore { $0.machine.isIdle } }

  package final func layerWaits(_ part: Wait.Part) -> [Wait] {
    switch part {
    case .connections: waitsForConnections()
    case .turn: waitsForClaims() + conditionWaitsAtStart
    case .execution: waitsForChildren()
    }
  }

  /// Returns the waits for prerequisites of conditions, and for the start of the parent group.
  private func waitsForConnections() -> [Wait] {
    let (group, prerequisites, conditions, isCancelled) = withCore { core in
      (
        core.extra?.group, core.extra?.evaluation.prerequisites ?? [],
        core.extra?.conditionsOfPrerequisites ?? [], core.machine.isCancelled
      )
    }
    var waits: [Wait] = []
    for (prerequisite, condition) in zip(prerequisites, conditions) where !prerequisite.isFinished {
      // A cancelled operation doesn't need the prerequisites, and leaves as soon as its queue allows.
      let end = isCancelled ? Wait.End.byItself : .ends([prerequisite])
      waits.append(Wait(.prerequisite(of: condition), of: [prerequisite], until: end))
    }
    if let group {
      waits.append(
        Wait(.parent, of: [group], until: .starts([group]), isCurrent: !group.isPastItsTurn)
      )
    }
    return waits
  }

  /// Returns the waits for claims, before the start or before the next attempt.
  private func waitsForClaims() -> [Wait] {
    let (hasClaims, hasStarted) = withCore { (!$0.claims.isEmpty, $0.machine.state >= .executing) }
    guard hasClaims, !hasStarted || attemptTurn != nil else { return [] }
    return environment.claimDomain.waits(of: self)
  }

  /// The waits for changes of conditions, of an operation that could start otherwise.
  private var conditionWaitsAtStart: [Wait] {
    let waits = withCore { $0.hasPatients ? $0.extra?.evaluation.startWait?.waits : nil }
    return waits?.map { $0.wait(of: self) } ?? []
  }

  /// Returns the wait for children that have not ended.
  private func waitsForChildren() -> [Wait] {
    let children = childRunner?.openChildren ?? []
    return children.isEmpty ? [] : [Wait(.children, of: children, until: .leaves(children))]
  }

  private var isPastItsTurn: Bool { withCore { $0.machine.state >= .executing } }
}
