import CoreOperations

/// What keeps a waiting operation from one of its claims.
struct ClaimWait {
  /// Who holds some of it, besides the operation's own groups, in the order of taking.
  struct Holder {
    let operation: AdvancedOperation
    /// How much the operation could have of it if this holder weren't there.
    let units: Int
  }

  /// What the claim is called.
  let name: String
  /// Empty when there is room, and others only come first.
  let holders: [Holder]
  /// How much is missing; 0 when there is room.
  let missing: Int
  /// The first in line, when it comes before the operation.
  let front: AdvancedOperation?
  /// When time alone makes it available; nil when time has nothing to do with it.
  let availableAt: Duration?

  /// What has to happen before the operation can have it, as far as that can't come by itself.
  var needs: [WaitNeed] {
    if availableAt != nil { return [] }
    var needs: [WaitNeed] = []
    if let front { needs.append(WaitNeed(.start(front))) }
    guard missing > 0 else { return needs }
    let sources = holders.filter { $0.units > 0 }.map {
      WaitNeed.Source(.quiet($0.operation), units: $0.units)
    }
    // Exactly so many: a release that isn't enough is no reason to look again.
    if !sources.isEmpty { needs.append(WaitNeed(units: missing, from: sources)) }
    return needs
  }
}

extension ExclusivityState {
  /// What a waiter waits for; nothing when it was told to try again.
  func waits(of operation: AdvancedOperation) -> [ClaimWait] {
    guard let claimant = waiting(operation) else { return [] }
    let groups = claimant.terms.groups
    var waits: [ClaimWait] = []
    for demand in claimant.demands {
      let front = line(of: demand, claimant)?.first
      let isBehind = front.map { $0.ticket ?? .max < claimant.ticket ?? .max } ?? false
      guard isBehind || !fits(demand, claimant) else { continue }
      waits.append(
        ClaimWait(
          name: demand.name,
          holders: demand.resource.waits(for: demand, inside: groups),
          missing: demand.resource.missing(for: demand, inside: groups),
          front: isBehind ? front?.operation : nil,
          availableAt: demand.resource.bucket?.allowedAt(demand.rates)
        )
      )
    }
    return waits
  }

  /// One that stands in a line.
  private func waiting(_ operation: AdvancedOperation) -> Claimant? {
    guard let claimant = claimant(operation), claimant.place != nil else { return nil }
    return claimant
  }

  func isWaiting(_ operation: AdvancedOperation) -> Bool { waiting(operation) != nil }

  /// Whether a wait may close a ring: somebody who holds what is claimed may wait for others, or code
  /// of an operation does.
  ///
  /// Of several waits that close a ring together, the last one to be known sees the others: whoever
  /// begins one after this was asked looks at the account afterwards.
  func mayCloseRing(_ claimant: Claimant) -> Bool {
    OwnWaits.isAny || claimant.demands.contains { $0.resource.isHeldByParent }
  }

  /// Whether a waiter waits for somebody who may wait for others.
  func waitsForParent(_ operation: AdvancedOperation) -> Bool {
    guard let claimant = waiting(operation) else { return false }
    return claimant.demands.contains {
      $0.resource.isHeldByParent && !isAvailable($0, claimant)
    }
  }

  /// Whether others may stand behind a waiter in its line, and so wait for its start.
  func mayBeFollowed(_ operation: AdvancedOperation) -> Bool {
    guard let claimant = claimant(operation), let place = claimant.place else { return false }
    return place.line.latestTicket > claimant.ticket ?? .max
  }

  /// Whether it is the order of coming that keeps a waiter waiting.
  func isBehind(_ operation: AdvancedOperation) -> Bool {
    waits(of: operation).contains { $0.front != nil }
  }

  /// Lets a waiter come before all others, because those in front wait for it in some other way;
  /// once, because two could pass each other for ever.
  ///
  /// - Returns: Whether it came after others until now.
  mutating func movedToFront(
    _ operation: AdvancedOperation,
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
    drain(left, &effects)
    return true
  }
}

extension ClaimResource {
  func waits(for demand: ClaimDemand, inside groups: [ObjectIdentifier]) -> [ClaimWait.Holder] {
    if missing(for: demand, inside: groups) == 0 { return [] }
    return held(besides: groups).map { held, operation in
      let lent = held.loans.filter { loan in
        loan.lender.holder.map { groups.contains(ObjectIdentifier($0)) } ?? false
      }
      let units = held.taken + lent.reduce(0) { $0 + $1.units }
      return ClaimWait.Holder(operation: operation, units: units)
    }
  }
}
