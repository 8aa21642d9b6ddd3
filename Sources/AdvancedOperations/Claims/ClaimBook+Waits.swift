import CoreOperations

/// The waits of operations for claims, for explanations and for the search for cycles.
extension ClaimBook {
  /// Returns the waits of an operation that waits for its claims; empty if the operation is about to try
  /// again.
  func waits(of operation: AdvancedOperation) -> [Wait] {
    guard let claim = claim(of: operation), claim.awaited != nil else { return [] }
    return claim.parts.compactMap { $0.resource.wait(for: $0, of: claim) }
  }

  func isWaiting(_ operation: AdvancedOperation) -> Bool {
    claim(of: operation)?.awaited != nil
  }

  /// Returns true if a wait may complete a cycle.
  ///
  /// A wait can complete a cycle if a holder of a resource may wait for other operations, or if code of an
  /// operation waits.
  ///
  /// If several waits complete a cycle together, the last recorded wait finds the others. A wait that begins
  /// after this check is checked itself.
  func mayCompleteCycle(_ claim: Claim) -> Bool {
    RunTimeCycles.areThinkable || claim.parts.contains { $0.resource.isHeldByParent }
  }

  /// Returns true if the operation waits for an operation that may wait for others.
  func waitsForParent(_ operation: AdvancedOperation) -> Bool {
    guard let claim = claim(of: operation), claim.awaited != nil else { return false }
    return claim.parts.contains {
      $0.resource.isHeldByParent && $0.resource.obstacle(to: $0, of: claim) != nil
    }
  }

  /// Returns true if other operations may be behind the operation in its queue of waiters, and so wait for
  /// its start.
  func mayBeFollowed(_ operation: AdvancedOperation) -> Bool {
    guard let claim = claim(of: operation), let part = claim.awaited else { return false }
    return part.resource.waiters.latestTicket > claim.ticket ?? .max
  }

  /// Returns true if the operation waits because of the FIFO order of waiters.
  func isBehind(_ operation: AdvancedOperation) -> Bool {
    waits(of: operation).contains { $0.claim?.front != nil }
  }
}

extension Resource {
  /// Returns the wait of a claim for a part; nil if the part is available at this moment.
  fileprivate func wait(for part: Claim.Part, of claim: Claim) -> Wait? {
    guard obstacle(to: part, of: claim) != nil else { return nil }
    let name = part.request.name
    let front = waiters.isAhead(of: claim) ? waiters.first?.operation : nil
    if isRate {
      // A rate becomes available by time alone.
      var availableAt = bucket?.allowedAt(part.request.rates, cost: part.request.cost)
      if front != nil, let bucket, let first = waiters.first?.awaited?.request {
        // The waiter in front may have a slower rate of the same key.
        availableAt = availableAt.map { max($0, bucket.allowedAt(first.rates, cost: first.cost)) }
      }
      let claim = Wait.Claim(
        name: name,
        front: front,
        availableAt: availableAt,
        hold: bucket?.hold
      )
      let others = availableAt == nil ? front.map { [$0] } ?? [] : []
      return Wait(.claim(claim), of: others, until: .needs([]))
    }
    let missing = missing(for: part)
    // A group around the operation keeps its units until the operation has finished, so other holders have to
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
      // The end of the holder with the strictest limit raises the limit, so it frees enough, independently of
      // its units.
      let units = holder.claim === strictest ? max(missing, holder.units) : holder.units
      return units > 0 ? WaitNeed.Source(.idle(holder.claim.operation), units: units) : nil
    }
    // The need is the exact number of missing units, so a release of fewer units causes no new search.
    if !sources.isEmpty { needs.append(WaitNeed(units: missing, from: sources)) }
    // The need for the first waiter is last, because a search begins with the last need. Mostly, the first
    // waiter can proceed, and so can all waiters behind it.
    if let front { needs.append(WaitNeed(.start(front))) }
    let others = wait.holders.isEmpty ? front.map { [$0] } ?? [] : wait.holders
    return Wait(.claim(wait), of: others, until: .needs(needs))
  }
}
