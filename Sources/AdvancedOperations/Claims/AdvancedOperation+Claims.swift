import CoreOperations

extension AdvancedOperation {
  // MARK: Attaching

  /// Adds a claim, which the operation holds while it runs.
  ///
  /// All claims of the operation are acquired in one step together with the slot, and released in one step.
  /// If the operation is cancelled, the claim is recorded and never acquired.
  ///
  /// - Parameter claim: The claim. The method reads its name and its requests, and doesn't retain the claim.
  /// - Precondition: The operation hasn't been enqueued or started, unless it is cancelled. If the claim is for
  ///   units of a pool, the pool must belong to the domain of the operation's environment.
  public final func addClaim(_ claim: any OperationClaim) {
    let (name, requests) = (claim.name, claim.requests)
    var foreign: ResourcePool?
    attach(calling: "addClaim(_:)") { core in
      core.claims.add(name: name, requests)
      foreign = core.foreignPool
    }
    if let foreign { rejectPool(foreign) }
  }

  /// Traps if the operation claims units of a pool of another domain, as soon as the environment is known.
  final func checkDomainOfClaims() {
    if let pool = withCore({ $0.foreignPool }) { rejectPool(pool) }
  }

  private final func rejectPool(_ pool: ResourcePool) -> Never {
    trap(
      "Operation “\(label)” claims units of the pool “\(pool.name)”, which belongs to another "
        + "ClaimDomain than the operation's environment. Create the pool with "
        + "ResourcePool(_:capacity:domain:) and environment.claimDomain as the domain."
    )
  }

  final var claims: [ClaimRequest] { withCore { $0.claims } }
  final var clock: OperationClock { environment.clock }

  // MARK: The start gate

  /// Acquires the claims of an operation that has a slot, and evaluates its immediate conditions again.
  ///
  /// - Returns: The decision about the start of the operation.
  final func takeClaims() -> StartDecision {
    guard let asked = asked() else { return .run }
    guard let domain = asked.domain else { return evaluateAtStart() }
    let decision = domain.take(
      asked.claims,
      for: self,
      inside: asked.parent.map { Array(sequence(first: $0, next: \.parent)) } ?? [],
      alwaysWaits: asked.hasStarted
    )
    // The operation waited for the start of its next attempt and may have finished before this call. At that
    // time it held no claim and was in no queue of waiters, so its end released nothing.
    if asked.hasStarted, withCore({ $0.machine.isIdle }) {
      domain.release(self)
      return .run
    }
    switch decision {
    case .granted:
      // A cancel before the claims were acquired had no start to withdraw.
      if isCancelled { withdrawClaims() }
      // The conditions are evaluated while the operation holds its claims, so no other holder can outdate an
      // answer.
      return evaluateAtStart()
    case .wait(let holders, let mayCompleteCycle):
      // An operation whose conditions aren't satisfied any more doesn't cancel the holders.
      if !holders.isEmpty {
        switch evaluateAgain(isStarting: false) {
        case .satisfied: break
        case .marked: return .run
        case .waits:
          returnGrant()
          return .park
        }
      }
      return claimsAwaited(cancelling: holders, mayCompleteCycle: mayCompleteCycle)
    case .refused(let claim, let holders, let isExcessive):
      let error = Self.error(claim, holders, isExcessive: isExcessive)
      return mark(.failed([Self.element(claim.name, error)]))
    case .skipped(let claim, let holders):
      return mark(.skipped(reason: Self.reason(claim, holders)))
    }
  }

  /// The input of a decision about the start.
  private struct Asked {
    let claims: [ClaimRequest]
    /// The domain of the claims; nil without claims.
    let domain: ClaimDomain?
    let parent: AdvancedOperation?
    /// A Boolean value that indicates whether the operation has started before, so that its next attempt
    /// starts.
    let hasStarted: Bool
  }

  /// Reads the input of the decision; nil if the operation doesn't need its claims any more.
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

  /// Evaluates the conditions of an operation that has its slot and its claims.
  private func evaluateAtStart() -> StartDecision {
    let waits = evaluateAgain() == .waits
    if isCancelled || dependenciesAreFinished && !waits { return .run }
    // The operation releases its claims and waits: a condition has added a dependency, or isn't satisfied and
    // waits for a change.
    returnGrant()
    return .park
  }

  /// Lets the operation wait for its claims, unless the wait completes a cycle.
  private func claimsAwaited(
    cancelling holders: [AdvancedOperation],
    mayCompleteCycle: Bool
  ) -> StartDecision {
    for holder in holders {
      holder.cancel(withError: OperationClaimError.preempted(by: nameAndTag))
    }
    // A cancel may have come before the operation joined the waiters, and found nothing to withdraw. The same
    // applies to the end of an operation that has executed.
    if withCore({ $0.machine.isCancelled || $0.machine.isEndDecided }) {
      withdrawClaims()
    }
    noteWaitForClaims()
    guard mayCompleteCycle, let claim = environment.claimDomain.waits(of: self).first?.claim,
      let cycle = cycleOfClaims()
    else { return .park }
    return mark(.failed([Self.element(claim.name, cycle)]))
  }

  /// Records the time at which the operation began to wait for its claims, if the operation records times.
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
      let capacity = claim.pool?.capacity ?? claim.rates.map(\.count).min() ?? 0
      return .exceedsCapacity(needed: max(claim.units, claim.cost), capacity: capacity)
    }
    if let rate = claim.rates.first {
      return .rateExceeded(count: rate.count, duration: rate.duration)
    }
    return .busy(holders: holders.map(\.nameAndTag))
  }

  private static func reason(_ claim: ClaimRequest, _ holders: [AdvancedOperation]) -> String {
    if let rate = claim.rates.first {
      return
        "“\(claim.name)” allows no start now: its rate is \(counted(rate.count, "start")) per "
        + rate.duration.readable
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

  /// Removes an operation that won't execute from the waiters, and returns the tokens of its start to the
  /// rates.
  package final func withdrawClaims() { environment.claimDomain.withdraw(self) }
}

// MARK: - Cycles

extension AdvancedOperation {
  /// Stops waiting for claims if the wait completes a cycle.
  ///
  /// If several waits complete a cycle together, the last recorded wait finds the others.
  ///
  /// - Returns: The error to fail with; nil if the operation keeps waiting.
  final func cycleOfClaims() -> OperationCycleError? {
    guard let cycle = cycleOfWaits(),
      environment.claimDomain.update({ $0.withdrawnFromWaiters(self, &$1) })
    else {
      return nil
    }
    return OperationCycleError(path: cycle.map(\.nameAndTag))
  }

  /// Fails the operation if its changed wait completes a cycle.
  ///
  /// The operation waits for another claim than before, or behind other operations.
  final func claimWaitMoved() {
    while let cycle = cycleOfWaits(), refuseWaiting(in: cycle) {}
  }

  /// Returns the cycle that contains the operation's wait for its claims; nil if there is none.
  ///
  /// If only the FIFO order of waiters completes a cycle, the operations behind others move to the front, and
  /// the search is repeated.
  private func cycleOfWaits() -> [Operation]? {
    // An operation for which no other operation waits is in no cycle.
    guard isAwaited,
      RunTimeCycles.areThinkable || environment.claimDomain.look({ $0.waitsForParent(self) })
    else { return nil }
    while let cycle = WaitSearch.cycle(through: .start(self))?.operations {
      if !Self.passOrder(in: cycle) { return cycle }
    }
    return nil
  }

  /// A Boolean value that indicates whether anything may wait for the operation.
  ///
  /// Dependents, a group, a barrier, or code that awaits the operation may wait for it. Operations that wait
  /// for its children wait for its start. Operations behind it in a queue of waiters also wait for it. A
  /// returning waiter keeps its old place, in front of later operations that have already checked for a
  /// cycle.
  private var isAwaited: Bool {
    mayRunOthers || hasDependents || isNeeded
      || environment.claimDomain.look { $0.mayBeFollowed(self) }
      || parent != nil
      || withCore { $0.extra?.afterIdle.isEmpty == false }
  }

  /// Moves operations to the front of the waiters if the cycle is completed only by the FIFO order.
  private static func passOrder(in cycle: [Operation]) -> Bool {
    // The list is complete before any operation moves. Otherwise an operation that was overtaken would
    // overtake in turn.
    let behind = cycle.dropLast().compactMap { $0 as? AdvancedOperation }
      .filter { operation in operation.environment.claimDomain.look { $0.isBehind(operation) } }
    var hasPassed = false
    for operation in behind
    where operation.environment.claimDomain.update({ $0.movedToFront(operation, &$1) }) {
      hasPassed = true
    }
    return hasPassed
  }

  /// Moves operations that only the FIFO order delays to the front, or fails an operation that waits for a
  /// claim.
  ///
  /// - Returns: True if the cycle is broken.
  final func breakCycleOfClaims(_ cycle: [Operation]) -> Bool {
    Self.passOrder(in: cycle)
      || cycle.contains { ($0 as? AdvancedOperation)?.refuseWaiting(in: cycle) ?? false }
  }

  /// Fails the operation if it waits for a claim.
  ///
  /// - Returns: True if the operation fails.
  private func refuseWaiting(in cycle: [Operation]) -> Bool {
    let claim = environment.claimDomain.waits(of: self).first?.claim
    guard let claim, environment.claimDomain.update({ $0.withdrawnFromWaiters(self, &$1) }) else {
      return false
    }
    // The path begins and ends with the operation that fails.
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
  /// A claimed pool that belongs to another domain than the environment; nil if there is none, or the
  /// environment isn't known yet.
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
