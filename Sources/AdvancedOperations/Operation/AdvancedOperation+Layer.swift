package import CoreOperations

/// What the queue asks of an operation, and does to it: all that ``LayeredOperation`` requires.
extension AdvancedOperation: LayeredOperation {
  // MARK: On its way into a queue

  package final func willEnqueue(in queue: OperationQueue) -> AdmissionTerms {
    let advanced = queue as? AdvancedOperationQueue
    let environment = advanced?.environment
    for entry in environment?.observers ?? [] { addObserver(entry.observer) }
    if let advanced { advanced.delegate?.operationQueue(advanced, willAdd: self) }
    if let environment, environment.isTraced { environment.tracer?.operationWillEnqueue(self) }
    let hasInputs = hasInputs
    let (hasConditions, hasClaims, isJournaled, isHeard, old) = withCore { core in
      let old = core.environment
      if let environment { core.environment = environment }
      core.isInAdvancedQueue = advanced != nil
      core.machine.enqueued()
      let hasConditions = !core.conditions.isEmpty
      // A dependency that is added from here on is watched by the call that adds it.
      let isHeard =
        !core.observers.isEmpty || !core.line.isEmpty || core.extra != nil
        || core.environment?.isTraced == true || advanced?.mayHaveDelegate == true
        || hasConditions && !dependenciesAreFinished
      // Without observers, notifying cost a quarter of the operation's life (callgrind).
      if isHeard { core.line.append(.enqueued) }
      return (hasConditions, !core.claims.isEmpty, core.isJournaled, isHeard, old)
    }
    withExtendedLifetime(old) {}
    if hasClaims { checkDomainOfClaims() }
    return AdmissionTerms(
      isHeld: hasConditions || hasInputs || isJournaled,
      needsDidEnqueue: isHeard,
      isAskedAtStart: hasClaims,
      isAskedAfterWait: hasConditions
    )
  }

  package final func didEnqueue() {
    let (hasExtra, hasConditions, environment, isInAdvancedQueue) = withCore { core in
      (core.extra != nil, !core.conditions.isEmpty, core.environment, core.isInAdvancedQueue)
    }
    if hasExtra { updateTimers(entering: .pending) }
    if let environment, environment.isTraced {
      environment.tracer?.operation(self, entered: .pending)
    }
    deliver()
    if hasConditions { watchDependencies() }
    if isInAdvancedQueue, let queue = queue as? AdvancedOperationQueue {
      queue.delegate?.operationQueue(queue, didAdd: self)
    }
  }

  package final func dependenciesDidFinish() {
    var question: AdvancedCore.Question?
    change { core in
      switch core.machine.dependenciesFinished() {
      case .evaluate: question = core.question
      case .none: break
      }
    }
    if let question { begin(question) }
  }

  // MARK: Its turn

  package final func decideStart(hasWaited: Bool) -> StartDecision {
    takeClaims(hasWaited: hasWaited)
  }

  package final func grantedStartBegins() { reviewGranted() }

  /// Its claims go to others while it waits.
  package final func returnGrant() { environment.exclusivity.returnGrant(self) }

  package final func reviewIsDue() { reviewed(leavesAhead: review()) }
  package final func turnCameAgain() { nextAttemptMayBegin() }

  // MARK: Cancelling

  package final func cancelSilently(reason: (any Error)?) {
    holdEvents()
    cancel(forwarding: reason)
  }

  /// Notifies no observer of an event before ``deliverEvents()``.
  final func holdEvents() { withCore { $0.line.sweepBegan() } }

  package final func cancelAsMember(of ring: OperationCycleError) { cancel(withError: ring) }

  package final func deliverEvents() {
    withCore { $0.line.sweepEnded() }
    deliver()
  }

  package final func openRing(_ ring: [Operation]) -> Bool { openRingOfClaims(ring) }

  // MARK: What it waits for

  /// The group that the operation is a child of, until that executes.
  package final var awaitedParent: Operation? {
    guard let group = withCore({ $0.extra?.group }) else { return nil }
    return group.withCore { $0.machine.state < .executing } ? group : nil
  }

  package final var awaitedHelpers: [Operation] {
    let helpers = withCore { core in
      core.machine.isCancelled ? [] : core.extra?.awaitedHelpers ?? []
    }
    return helpers.filter { !$0.isFinished }
  }

  package final var isAwaitedInLayer: Bool {
    hasWaitingChildren || withCore { $0.isAwaitedAsHelper }
  }

  /// Helpers that conditions brought, the start of the group that the operation is a child of, and
  /// what it claims.
  package final func layerNeedsBeforeStart() -> [WaitNeed] {
    let (group, hasClaims) = withCore { core in (core.extra?.group, !core.claims.isEmpty) }
    var needs = awaitedHelpers.map { WaitNeed(.end($0)) }
    if let group { needs.append(WaitNeed(.start(group))) }
    if hasClaims { needs += environment.exclusivity.waits(of: self).flatMap(\.needs) }
    return needs
  }

  package final var isStartingByHand: Bool {
    withCore { $0.machine.isStartedByHand && $0.machine.state < .executing }
  }

  /// The claims that the next attempt waits for.
  package final func layerNeedsOfTurn() -> [WaitNeed] {
    guard attemptTurn != nil, withCore({ !$0.claims.isEmpty }) else { return [] }
    return environment.exclusivity.waits(of: self).flatMap(\.needs)
  }

  /// Children that have not ended.
  package final func layerNeedsOfExecution() -> [WaitNeed] {
    openChildren.map { WaitNeed(.quiet($0)) }
  }
}
