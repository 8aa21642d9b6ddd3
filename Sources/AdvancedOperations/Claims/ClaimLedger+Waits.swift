import CoreOperations

extension ClaimLedger {
  /// What a waiter waits for; nothing when it is about to try again.
  func waits(of operation: any ClaimHolder) -> [Wait] {
    guard let claimant = waiting(operation) else { return [] }
    return claimant.demands.compactMap { demand in
      if case .open = way(of: claimant, to: demand) { return nil }
      return demand.resource.wait(for: demand, of: claimant)
    }
  }

  /// One that stands in a line.
  private func waiting(_ operation: any ClaimHolder) -> Claimant? {
    guard let claimant = claimant(operation), claimant.place != nil else { return nil }
    return claimant
  }

  func isWaiting(_ operation: any ClaimHolder) -> Bool { waiting(operation) != nil }

  /// Whether a wait may complete a cycle: a holder of what is claimed may wait for others, or the
  /// code of an operation does.
  ///
  /// Of several waits that complete a cycle together, the last one to be recorded sees the others:
  /// a wait that begins after this was read is looked at afterwards.
  func mayCompleteCycle(_ claimant: Claimant) -> Bool {
    RunTimeCycles.areThinkable || claimant.demands.contains { $0.resource.isHeldByParent }
  }

  /// Whether a waiter waits for an operation that may wait for others.
  func waitsForParent(_ operation: any ClaimHolder) -> Bool {
    guard let claimant = waiting(operation) else { return false }
    return claimant.demands.contains {
      $0.resource.isHeldByParent && !isAvailable($0, claimant)
    }
  }

  /// Whether others may stand behind a waiter in a line, and so wait for its start.
  func mayBeFollowed(_ operation: any ClaimHolder) -> Bool {
    guard let claimant = claimant(operation) else { return false }
    var next = claimant.place?.line
    while let line = next {
      if line.latestTicket > claimant.ticket ?? .max { return true }
      next = line.outer
    }
    return false
  }

  /// Whether it is the order of coming that keeps a waiter waiting.
  func isBehind(_ operation: any ClaimHolder) -> Bool {
    waits(of: operation).contains { $0.claim?.front != nil }
  }

  /// Lets a waiter come before all others, because those in front wait for it in some other way;
  /// once, because two could pass each other for ever.
  ///
  /// - Returns: Whether it came after others until now.
  mutating func movedToFront(
    _ operation: any ClaimHolder,
    _ effects: inout ClaimEffects
  ) -> Bool {
    guard let claimant = waiting(operation), !claimant.wasMoved, isBehind(operation),
      let demand = claimant.place?.demand, let left = leaveLine(claimant)
    else { return false }
    claimant.ticket = nextFirstTicket()
    claimant.wasMoved = true
    // It stands in front of the line that it was in; from there it goes on as all do.
    joinLine(claimant, of: demand, &effects)
    // Those that it passed wait for it now.
    effects.append(.moved(operation))
    goOn(from: left, at: nil, &effects)
    return true
  }
}

extension ClaimResource {
  /// What keeps a waiter from what it can't have at this moment.
  fileprivate func wait(for demand: ClaimDemand, of claimant: Claimant) -> Wait {
    if isRate {
      let claim = Wait.Claim(
        name: demand.name,
        front: line.isAhead(of: claimant.ticket) ? line.first?.operation : nil,
        availableAt: bucket?.allowedAt(demand.rates)
      )
      return Wait(claim, needs: [])
    }
    let groups = claimant.terms.groups
    let held = held(besides: groups)
    let missing = missing(for: demand, inside: groups)
    let (front, turns) = turns(for: demand, of: claimant, held.map(\.demand))
    // What its groups hold may be enough for it, and others hold more than its limit allows beside
    // it.
    let isOverLimit = demand.pool == nil && used > demand.limit
    let holders = missing > 0 ? held : isOverLimit ? held.filter { $0.demand.taken > 0 } : []
    let claim = Wait.Claim(
      name: demand.name,
      units: demand.pool.map {
        Wait.Claim.Units(needed: demand.units, free: $0.capacity - used, capacity: $0.capacity)
      },
      holders: holders.map(\.by),
      front: front
    )
    var needs: [WaitNeed] = []
    if missing > 0 {
      needs.append(units: missing, sources(of: missing, for: demand, inside: groups, held))
    }
    if isOverLimit {
      // What the groups hold is of no use before that, and in its way as all else is.
      needs.append(
        units: used - demand.limit,
        self.held(besides: []).map { (.idle($1), $0.taken) }
      )
    }
    // The turns are last, because a search begins there: mostly the first in line can go on, and
    // all do behind it.
    return Wait(claim, needs: needs + turns)
  }

  /// Whose ends make room for a waiter, and how much.
  private func sources(
    of missing: Int,
    for demand: ClaimDemand,
    inside groups: [ObjectNumber],
    _ held: [(demand: ClaimDemand, by: any ClaimHolder)]
  ) -> [(node: WaitNode, units: Int)] {
    let strictest = strictestHolder(for: demand)
    let lenders = lenders(inside: groups)
    return held.map { held, operation in
      let lent = held.lent(by: lenders)
      // The end of the one whose limit counts leaves room, whatever it has taken.
      let units = held === strictest ? max(missing, held.taken + lent) : held.taken + lent
      return (WaitNode.idle(operation), units)
    }
  }

  /// Whose turn it is before a waiter's: that of the first in each line that it needs.
  ///
  /// It needs those from the inside out until what the groups hold is enough; or siblings end, and
  /// it is enough earlier. So each is a need for the start of the first, or for as many units as
  /// are missing without that line.
  private func turns(
    for demand: ClaimDemand,
    of claimant: Claimant,
    _ held: [ClaimDemand]
  ) -> (front: Operation?, needs: [WaitNeed]) {
    let lenders = lenders(inside: claimant.terms.groups)
    var front: Operation?
    var needs: [WaitNeed] = []
    var open = demand.units
    for (index, line) in (lenders.map(\.line) + [line]).enumerated() where open > 0 {
      if let line, line.isAhead(of: claimant.ticket), let first = line.first?.operation {
        let inner = Array(lenders[..<index])
        let siblings = held.compactMap { held in
          held.holder.map { (WaitNode.idle($0), held.lent(by: inner)) }
        }
        needs.append(units: open, [(.start(first), open)] + siblings)
        front = front ?? first
      }
      if index < lenders.count { open -= lenders[index].lendable }
    }
    return (front, needs)
  }
}

extension Wait {
  /// A wait for a claim, and what has to happen before the operation can have it, as far as that
  /// can't come by itself.
  fileprivate init(_ claim: Claim, needs: [WaitNeed]) {
    // Time alone makes it available.
    let others =
      claim.availableAt != nil
      ? [] : claim.holders.isEmpty ? claim.front.map { [$0] } ?? [] : claim.holders
    self.init(.claim(claim), of: others, until: .needs(needs))
  }
}

extension ClaimDemand {
  /// How many units some groups have lent it.
  fileprivate func lent(by lenders: [ClaimDemand]) -> Int {
    loans.reduce(0) { sum, loan in
      lenders.contains { $0 === loan.lender } ? sum + loan.units : sum
    }
  }
}

extension [WaitNeed] {
  /// Exactly so many units: a release that isn't enough is no reason to look again.
  fileprivate mutating func append(units: Int, _ sources: [(node: WaitNode, units: Int)]) {
    let sources = sources.filter { $0.units > 0 }.map { WaitNeed.Source($0, units: $1) }
    if !sources.isEmpty { append(WaitNeed(units: units, from: sources)) }
  }
}
