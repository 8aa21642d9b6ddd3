import CoreOperations

extension AdvancedOperation: ClaimHolder {
  // MARK: Attaching

  /// Adds something that the operation holds while it runs.
  ///
  /// All claims are taken in one step together with the slot, and given back in one step.
  ///
  /// - Parameter claim: Read here, and not retained.
  /// - Precondition: Not yet enqueued or started, unless cancelled; then it is recorded and never
  ///   taken. A pool belongs to the domain of the operation's environment.
  public final func addCondition(_ claim: any OperationClaim) {
    let (name, requests) = (claim.name, claim.requests)
    var foreign: ResourcePool?
    attach { core in
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
        + "ExclusivityDomain than the operation's environment. Make the pool with "
        + "ResourcePool(_:capacity:domain:) and environment.exclusivity as the domain."
    )
  }

  final var claims: [ClaimDemand] { withCore { $0.claims } }
  final var clock: OperationClock { environment.clock }

  // MARK: The start gate

  /// Takes the claims of an operation that has a slot, and evaluates its immediate conditions again.
  ///
  /// - Returns: Whether it starts.
  final func takeClaims() -> StartDecision {
    guard let asked = asked() else { return .run }
    if asked.claims.isEmpty { return evaluateAtStart() }
    let decision = asked.domain.take(
      asked.claims,
      for: self,
      inside: asked.parent?.enclosingGroups ?? [],
      alwaysWaits: asked.hasStarted
    )
    // An end of a next attempt that was quiet before found nothing to give back, and no line to
    // leave.
    if asked.hasStarted, withCore({ $0.machine.isQuiet }) {
      asked.domain.release(self)
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
    let claims: [ClaimDemand]
    let domain: ExclusivityDomain
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
        domain: (core.environment ?? .default).exclusivity,
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

  /// The operation stands in a line, unless that completes a cycle.
  private func claimsAwaited(
    cancelling holders: [any ClaimHolder],
    mayCompleteCycle: Bool
  ) -> StartDecision {
    for case let holder as AdvancedOperation in holders {
      holder.cancel(withError: OperationClaimError.preempted(by: label))
    }
    // A cancel that came before this operation stood in line found nothing to withdraw; nor did
    // the end of one that has executed.
    if withCore({ $0.machine.isCancelled || $0.machine.isEndDecided }) {
      withdrawClaims()
    }
    noteWaitForClaims()
    guard mayCompleteCycle, let claim = environment.exclusivity.waits(of: self).first?.claim,
      let cycle = cycleOfClaims()
    else { return .park }
    return mark(.failed([Self.element(claim.name, cycle)]))
  }

  /// Keeps the time at which the operation began to wait for its claims, if it keeps times.
  private func noteWaitForClaims() {
    guard withCore({ $0.extra.map { $0.stateTimes.claiming == nil } ?? false }) else { return }
    let now = environment.clock.now
    withCore { $0.extra?.stateTimes.claiming = now }
  }

  private static func error(
    _ claim: ClaimDemand,
    _ holders: [any ClaimHolder],
    isExcessive: Bool
  ) -> OperationClaimError {
    if isExcessive { return .exceedsCapacity(needed: claim.units, capacity: claim.limit) }
    if let rate = claim.rates.first {
      return .rateExceeded(count: rate.count, duration: rate.duration)
    }
    return .busy(holders: holders.map(\.label))
  }

  private static func reason(_ claim: ClaimDemand, _ holders: [any ClaimHolder]) -> String {
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

  /// The operation won't execute: it leaves its line, and rates forget a start that has not begun.
  package final func withdrawClaims() { environment.exclusivity.withdraw(self) }

}

extension AdvancedOperation {
  /// The operation, if it may run others, and the groups that it is in, the innermost first.
  ///
  /// As numbers: one of them may be gone while an account still knows an operation inside of it.
  fileprivate final var enclosingGroups: [ObjectNumber] {
    sequence(first: self, next: \.parent).compactMap(\.parentNumber)
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
      if let pool = claim.pool, pool.domain !== environment.exclusivity { return pool }
    }
    return nil
  }
}
