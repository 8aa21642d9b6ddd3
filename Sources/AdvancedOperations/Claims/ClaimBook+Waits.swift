import CoreOperations

/// What waiters wait for: for explanations, and to find cycles.
extension ClaimBook {
  /// What a waiter waits for; nothing when it is about to try again.
  func waits(of operation: AdvancedOperation) -> [Wait] {
    guard let claim = claim(of: operation), claim.awaited != nil else { return [] }
    return claim.parts.compactMap { $0.resource.wait(for: $0, of: claim) }
  }

  func isWaiting(_ operation: AdvancedOperation) -> Bool {
    claim(of: operation)?.awaited != nil
  }

  /// Whether a wait may complete a cycle: a holder of a resource may wait for others, or the code
  /// of an operation does.
  ///
  /// Of several waits that complete a cycle together, the last one to be recorded finds the others:
  /// a wait that begins after this was read is checked afterwards.
  func mayCompleteCycle(_ claim: Claim) -> Bool {
    RunTimeCycles.areThinkable || claim.parts.contains { $0.resource.isHeldByParent }
  }

  /// Whether a waiter waits for an operation that may wait for others.
  func waitsForParent(_ operation: AdvancedOperation) -> Bool {
    guard let claim = claim(of: operation), claim.awaited != nil else { return false }
    return claim.parts.contains {
      $0.resource.isHeldByParent && $0.resource.obstacle(to: $0, of: claim) != nil
    }
  }

  /// Whether others may be behind a waiter, and so wait for its start.
  func mayBeFollowed(_ operation: AdvancedOperation) -> Bool {
    guard let claim = claim(of: operation), let part = claim.awaited else { return false }
    return part.resource.waiters.latestTicket > claim.ticket ?? .max
  }

  /// Whether it is the order of coming that keeps a waiter waiting.
  func isBehind(_ operation: AdvancedOperation) -> Bool {
    waits(of: operation).contains { $0.claim?.front != nil }
  }
}

extension Resource {
  /// The wait of a claim for a part that it can't have at this moment; nil if it can.
  fileprivate func wait(for part: Claim.Part, of claim: Claim) -> Wait? {
    guard obstacle(to: part, of: claim) != nil else { return nil }
    let name = part.request.name
    let front = waiters.isAhead(of: claim) ? waiters.first?.operation : nil
    if isRate {
      // Time alone makes it available.
      let availableAt = bucket?.allowedAt(part.request.rates)
      let claim = Wait.Claim(name: name, front: front, availableAt: availableAt)
      let others = availableAt == nil ? front.map { [$0] } ?? [] : []
      return Wait(.claim(claim), of: others, until: .needs([]))
    }
    let missing = missing(for: part)
    // A group around the operation keeps its units until the operation has ended: others have to
    // release theirs.
    let holders = missing > 0 ? self.holders.filter { !claim.isInside($0.claim.operation) } : []
    let limit = limit(for: part)
    let wait = Wait.Claim(
      name: name,
      units: part.request.pool.map { _ in
        Wait.Claim.Units(needed: part.units, free: limit - used, capacity: limit)
      },
      holders: holders.map(\.claim.operation),
      front: front
    )
    var needs: [WaitNeed] = []
    let strictest = strictestHolder(for: part)
    let sources = holders.compactMap { holder -> WaitNeed.Source? in
      // The end of the holder whose limit decides leaves room, whatever it has.
      let units = holder.claim === strictest ? max(missing, holder.units) : holder.units
      return units > 0 ? WaitNeed.Source(.idle(holder.claim.operation), units: units) : nil
    }
    // Exactly so many units: a release that isn't enough is no reason to check again.
    if !sources.isEmpty { needs.append(WaitNeed(units: missing, from: sources)) }
    // The turn is last, because a search begins there: mostly the first waiter can go on, and so
    // can all behind it.
    if let front { needs.append(WaitNeed(.start(front))) }
    let others = wait.holders.isEmpty ? front.map { [$0] } ?? [] : wait.holders
    return Wait(.claim(wait), of: others, until: .needs(needs))
  }
}
