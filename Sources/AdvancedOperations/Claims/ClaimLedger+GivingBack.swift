import CoreOperations

/// How claims are given back: at the end of an operation, or because nothing has begun.
extension ClaimLedger {
  /// A quiet operation gives back all that it holds, which is offered to operations that wait.
  ///
  /// What rates have counted stays counted.
  mutating func releaseCalled(_ operation: any LayeredOperation, _ effects: inout ClaimEffects) {
    guard let claimant = claimant(operation) else { return }
    let left = leaveLine(claimant)
    if let left { goOn(from: left, at: nil, &effects) }
    guard claimant.hasItsClaims else {
      forget(claimant)
      return
    }
    claimant.hasItsClaims = false
    if isTraced { effects.append(.trace(.givenBack, operation)) }
    // All of them before anybody looks.
    var lines: [ClaimLine] = []
    for demand in claimant.demands where !demand.isRate {
      lines += demand.resource.givenBack(demand)
    }
    for line in lines { drain(line, at: nil, &effects) }
    for demand in claimant.demands where !demand.isRate {
      drain(demand.resource.line, at: nil, &effects)
    }
    forget(claimant)
  }

  /// An operation that won't execute leaves its line.
  ///
  /// What it was given it keeps until its end, besides the starts that rates count.
  mutating func withdrawCalled(
    _ operation: any ClaimHolder,
    _ time: Time?,
    _ effects: inout ClaimEffects
  ) {
    guard let claimant = claimant(operation) else { return }
    let left = leaveLine(claimant)
    claimant.ticket = nil
    // Those behind it may have waited for nothing else.
    if let left { goOn(from: left, at: time, &effects) }
    if claimant.hasItsClaims {
      takeStartBack(claimant, at: time, &effects)
    } else {
      forget(claimant)
    }
  }

  /// An operation leaves its line, unless it isn't in one.
  ///
  /// - Returns: Whether it was, so that it has neither got its claims nor been told to try again.
  mutating func withdrawnFromLine(
    _ operation: any ClaimHolder,
    _ effects: inout ClaimEffects
  ) -> Bool {
    guard isWaiting(operation) else { return false }
    withdrawCalled(operation, nil, &effects)
    return true
  }

  /// The capacity of a pool was changed: what waits is looked at again.
  ///
  /// An operation that needs more than the pool has in all now tries again, and fails then.
  mutating func capacityChanged(of pool: ResourcePool, _ effects: inout ClaimEffects) {
    guard let resource = resource(ClaimKey(.pool(pool.number))) else { return }
    let refused = claimants.values.filter { claimant in
      claimant.place != nil
        && claimant.demands.contains { $0.resource === resource && isExcessive($0, claimant) }
    }
    for claimant in refused.sorted(by: { $0.ticket ?? .max < $1.ticket ?? .max }) {
      guard let left = leaveLine(claimant) else { continue }
      tellToTryAgain(claimant, &effects)
      goOn(from: left, at: nil, &effects)
    }
    drain(resource.line, at: nil, &effects)
    // With fewer units, the first may wait for more of the holders.
    if let front = resource.line.first { noteMoved(front, &effects) }
  }

  /// One that was given its claims doesn't start after all, or not now: rates don't count it.
  mutating func grantReturned(
    _ operation: any ClaimHolder,
    _ time: Time?,
    _ effects: inout ClaimEffects
  ) {
    if let claimant = claimant(operation) { takeStartBack(claimant, at: time, &effects) }
    releaseCalled(operation, &effects)
  }

  /// Rates forget a start that has not begun, and let others start in its place.
  private mutating func takeStartBack(
    _ claimant: Claimant,
    at time: Time?,
    _ effects: inout ClaimEffects
  ) {
    guard let time else { return }
    timePassed(to: time.now, for: claimant)
    for demand in claimant.demands where demand.isRate {
      if let start = demand.start.take() { demand.resource.bucket?.takenBack(start) }
      drain(demand.resource.line, at: time, &effects)
      updateTimer(demand.resource, &effects)
    }
  }
}
