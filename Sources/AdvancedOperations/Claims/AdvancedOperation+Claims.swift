import CoreOperations

extension AdvancedOperation {
  // MARK: Attaching

  /// Adds something that the operation holds while it runs.
  ///
  /// All claims are taken in one step together with the slot, and given back in one step.
  ///
  /// - Parameter claim: Read here, and not retained.
  /// - Precondition: Not yet enqueued or started, unless cancelled; then it is recorded and never
  ///   taken. A pool belongs to the domain of the operation's environment.
  public final func addClaim(_ claim: any OperationClaim) {
    let (name, requests) = (claim.name, claim.requests)
    var foreign: ResourcePool?
    attach(calling: "addClaim(_:)") { core in
      core.claims.add(name: name, requests)
      foreign = core.foreignPool
    }
    if let foreign { rejectPool(foreign) }
  }

  /// Traps when a pool is claimed that belongs to another domain, as soon as that is known.
  final func checkDomainOfClaims() {
    if let pool = withCore({ $0.foreignPool }) { rejectPool(pool) }
  }

  private final func rejectPool(_ pool: ResourcePool) -> Never {
    trap(
      "Operation “\(label)” claims units of the pool “\(pool.name)”, which belongs to another "
        + "ClaimDomain than the operation's environment. Make the pool with "
        + "ResourcePool(_:capacity:domain:) and environment.claimDomain as the domain."
    )
  }

  final var claims: [ClaimRequest] { withCore { $0.claims } }
  final var clock: OperationClock { environment.clock }

  // MARK: The start gate

  /// Takes the claims of an operation that has a slot, and evaluates its immediate conditions
  /// again.
  ///
  /// - Returns: Whether it starts.
  final func takeClaims() -> StartDecision {
    guard let asked = asked() else { return .run }
    guard let domain = asked.domain else { return evaluateAtStart() }
    let decision = domain.take(
      asked.claims,
      for: self,
      inside: asked.parent.map { Array(sequence(first: $0, next: \.parent)) } ?? [],
      alwaysWaits: asked.hasStarted
    )
    // An end of a next attempt that was quiet before found nothing to give back, and no line to
    // leave.
    if asked.hasStarted, withCore({ $0.machine.isIdle }) {
      domain.release(self)
      return .run
    }
    switch decision {
    case .granted:
      // A cancel that came before found nothing to take back.
      if isCancelled { withdrawClaims() }
      // With its claims, so that no other holder can outdate an answer.
      return evaluateAtStart()
    case .wait(let holders, let mayCompleteCycle):
      // Nothing is cancelled for an operation that has nothing to do any more.
      if !holders.isEmpty, evaluateAgain(isStarting: false) { return .run }
      return claimsAwaited(cancelling: holders, mayCompleteCycle: mayCompleteCycle)
    case .refused(let claim, let holders, let isExcessive):
      let error = Self.error(claim, holders, isExcessive: isExcessive)
      return mark(.failed([Self.element(claim.name, error)]))
    case .skipped(let claim, let holders):
      return mark(.skipped(reason: Self.reason(claim, holders)))
    }
  }

  /// What a decision about the start is made of.
  private struct Asked {
    let claims: [ClaimRequest]
    /// Nil without claims.
    let domain: ClaimDomain?
    let parent: AdvancedOperation?
    /// Whether it is the next attempt that starts.
    let hasStarted: Bool
  }

  /// Reads what decides; nil if nothing keeps the operation.
  private func asked() -> Asked? {
    withCore { core in
      if core.machine.isMarked || core.machine.isCancelled || core.machine.isEndDecided {
        return nil
      }
      return Asked(
        claims: core.claims,
        domain: core.claims.isEmpty ? nil : (core.environment ?? .default).claimDomain,
        parent: core.extra?.group,
        hasStarted: core.machine.state == .executing
      )
    }
  }

  /// The operation has its slot and its claims.
  private func evaluateAtStart() -> StartDecision {
    evaluateAgain()
    if dependenciesAreFinished || isCancelled { return .run }
    // A condition has added a dependency to wait for.
    returnGrant()
    return .park
  }

  /// The operation waits for its claims, unless that completes a cycle.
  private func claimsAwaited(
    cancelling holders: [AdvancedOperation],
    mayCompleteCycle: Bool
  ) -> StartDecision {
    for holder in holders {
      holder.cancel(withError: OperationClaimError.preempted(by: nameAndTag))
    }
    // A cancel before the operation joined the waiters found nothing to withdraw, and neither did
    // the end of an operation that has executed.
    if withCore({ $0.machine.isCancelled || $0.machine.isEndDecided }) {
      withdrawClaims()
    }
    noteWaitForClaims()
    guard mayCompleteCycle, let claim = environment.claimDomain.waits(of: self).first?.claim,
      let cycle = cycleOfClaims()
    else { return .park }
    return mark(.failed([Self.element(claim.name, cycle)]))
  }

  /// Keeps the time at which the operation began to wait for its claims, if it keeps times.
  private func noteWaitForClaims() {
    guard withCore({ $0.recordsTimes && $0.extra?.stateTimes.claiming == nil }) else { return }
    let now = environment.clock.now
    withCore { $0.extra?.stateTimes.claiming = now }
  }

  private static func error(
    _ claim: ClaimRequest,
    _ holders: [AdvancedOperation],
    isExcessive: Bool
  ) -> OperationClaimError {
    if isExcessive {
      return .exceedsCapacity(needed: claim.units, capacity: claim.pool?.capacity ?? 0)
    }
    if let rate = claim.rates.first {
      return .rateExceeded(count: rate.count, duration: rate.duration)
    }
    return .busy(holders: holders.map(\.nameAndTag))
  }

  private static func reason(_ claim: ClaimRequest, _ holders: [AdvancedOperation]) -> String {
    if let rate = claim.rates.first {
      return
        "“\(claim.name)” lets no more than \(rate.count) start within \(rate.duration.readable)"
    }
    let names = holders.map(\.label).joined(separator: ", ")
    return names.isEmpty ? "others wait for “\(claim.name)”" : "“\(claim.name)” is held by \(names)"
  }

  private func mark(_ verdict: OperationStateMachine.Verdict) -> StartDecision {
    if case .failed(let elements) = verdict, attemptTurn != nil {
      abandonAttempt(because: elements.first)
      return .run
    }
    _ = change { $0.machine.reviewed(verdict) }
    return .run
  }

  /// The operation won't execute: it leaves the waiters, and rates forget a start that has not
  /// begun.
  package final func withdrawClaims() { environment.claimDomain.withdraw(self) }
}

// MARK: - Cycles

extension AdvancedOperation {
  /// The operation has begun to wait for claims: gives up if that completes a cycle.
  ///
  /// Of several waits that complete a cycle together, the last one to be known sees the others.
  ///
  /// - Returns: What to fail with; nil to wait.
  final func cycleOfClaims() -> OperationCycleError? {
    guard let cycle = cycleOfWaits(),
      environment.claimDomain.update({ $0.withdrawnFromWaiters(self, &$1) })
    else {
      return nil
    }
    return OperationCycleError(path: cycle.map(\.nameAndTag))
  }

  /// The operation waits for another claim than before, or behind others: lets it fail if that
  /// completes a cycle.
  final func claimWaitMoved() {
    while let cycle = cycleOfWaits(), refuseWaiting(in: cycle) {}
  }

  /// The cycle that the operation's wait for its claims is in, unless it is closed only by the
  /// order of coming; then the operations that this keeps come first.
  private func cycleOfWaits() -> [Operation]? {
    // An operation that nothing waits for is in no cycle.
    guard isAwaited,
      RunTimeCycles.areThinkable || environment.claimDomain.look({ $0.waitsForParent(self) })
    else { return nil }
    while let cycle = WaitSearch.cycle(through: .start(self))?.operations {
      if !Self.passOrder(in: cycle) { return cycle }
    }
    return nil
  }

  /// Whether anything may wait for the operation: dependents, a group, code that awaits it, what
  /// waits for a child of its own, which waits for its start, a barrier, and operations behind it
  /// in a line, because one that comes back or moves on stands in front of later ones that have
  /// looked before.
  private var isAwaited: Bool {
    mayRunOthers || hasDependents || isNeeded
      || environment.claimDomain.look { $0.mayBeFollowed(self) }
      || parent != nil
      || withCore { $0.extra?.afterIdle.isEmpty == false }
  }

  /// In a cycle that is completed only by the order of coming, lets the operations that it keeps
  /// come first.
  private static func passOrder(in cycle: [Operation]) -> Bool {
    // Decided before any of them moves, or the one that was passed would pass again.
    let behind = cycle.dropLast().compactMap { $0 as? AdvancedOperation }
      .filter { operation in operation.environment.claimDomain.look { $0.isBehind(operation) } }
    var hasPassed = false
    for operation in behind
    where operation.environment.claimDomain.update({ $0.movedToFront(operation, &$1) }) {
      hasPassed = true
    }
    return hasPassed
  }

  /// Lets operations that only the order of coming keeps come first, or fails one that waits for a
  /// claim.
  ///
  /// - Returns: Whether that has broken the cycle.
  final func breakCycleOfClaims(_ cycle: [Operation]) -> Bool {
    Self.passOrder(in: cycle)
      || cycle.contains { ($0 as? AdvancedOperation)?.refuseWaiting(in: cycle) ?? false }
  }

  /// Fails an operation that waits for a claim.
  ///
  /// - Returns: Whether it did.
  private func refuseWaiting(in cycle: [Operation]) -> Bool {
    let claim = environment.claimDomain.waits(of: self).first?.claim
    guard let claim, environment.claimDomain.update({ $0.withdrawnFromWaiters(self, &$1) }) else {
      return false
    }
    // Named from the one that is refused on.
    let members = cycle.dropLast()
    let start = members.firstIndex(of: self) ?? 0
    let path = members[start...] + members[..<start] + [self]
    let error = OperationCycleError(path: path.map(\.nameAndTag))
    if attemptTurn != nil {
      abandonAttempt(because: Self.element(claim.name, error))
      return true
    }
    switch change({ $0.machine.reviewed(.failed([Self.element(claim.name, error)])) }) {
    case .becomeReady: leaveAhead()
    case .ignore: break
    }
    return true
  }
}

extension AdvancedCore {
  /// A pool that is claimed and belongs to another domain than the environment, as far as that is
  /// known.
  var foreignPool: ResourcePool? {
    guard let environment = environment ?? (machine.isSubmitted ? .default : nil) else {
      return nil
    }
    for claim in claims {
      if let pool = claim.pool, pool.domain !== environment.claimDomain { return pool }
    }
    return nil
  }
}
