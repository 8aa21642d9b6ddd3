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
  mutating func waits(of id: ObjectIdentifier) -> [ClaimWait] {
    guard let waiter = waiters[id], waiter.place != nil else { return [] }
    var waits: [ClaimWait] = []
    for demand in waiter.attempt.demands {
      let front = front(of: demand.key, lender: lender(of: demand, waiter.attempt))
      let isBehind = front.map { $0.ticket < waiter.ticket } ?? false
      guard let resource = resources[demand.key], isBehind || !fits(demand, waiter.attempt) else {
        continue
      }
      waits.append(
        ClaimWait(
          name: demand.name,
          holders: resource.waits(for: demand, inside: waiter.attempt.groups),
          missing: resource.missing(for: demand, inside: waiter.attempt.groups),
          front: isBehind ? front?.attempt.operation : nil,
          availableAt: resource.bucket?.allowedAt(demand.rates)
        )
      )
    }
    return waits
  }

  /// Whether a waiter waits for somebody who may wait for others.
  mutating func waitsForParent(_ id: ObjectIdentifier) -> Bool {
    guard let waiter = waiters[id], waiter.place != nil else { return false }
    for demand in waiter.attempt.demands
    where (resources[demand.key]?.parentCount ?? 0) > 0
      && !isAvailable(demand, waiter.attempt, before: waiter.ticket)
    {
      return true
    }
    return false
  }

  /// Whether others may stand behind a waiter in its line, and so wait for its start.
  func mayBeFollowed(_ id: ObjectIdentifier) -> Bool {
    guard let waiter = waiters[id], let place = waiter.place else { return false }
    return resources[place.key]?.latestTicket(lender: place.lender) ?? .min > waiter.ticket
  }

  /// Whether it is the order of coming that keeps a waiter waiting.
  mutating func isBehind(_ id: ObjectIdentifier) -> Bool {
    waits(of: id).contains { $0.front != nil }
  }

  /// Lets a waiter come before all others, because those in front wait for it in some other way;
  /// once, because two could pass each other for ever.
  ///
  /// - Returns: Whether it came after others until now.
  mutating func movedToFront(_ id: ObjectIdentifier, _ effects: inout [Effect]) -> Bool {
    guard let waiter = waiters[id], !waiter.wasMoved, isBehind(id), let key = leaveLine(id)
    else { return false }
    let ticket = nextFirstTicket()
    waiters[id]?.ticket = ticket
    waiters[id]?.wasMoved = true
    // It stands in front of the line that it was in; from there it goes on as all do.
    if let demand = waiter.attempt.demand(of: key) { joinLine(id, of: demand, &effects) }
    // Those that it passed wait for it now.
    effects.append(.moved(waiter.attempt.operation))
    drain(key, &effects)
    return true
  }
}

extension ClaimResource {
  /// How many units are missing for a demand.
  func missing(for demand: ClaimDemand, inside groups: [ObjectIdentifier]) -> Int {
    bucket == nil ? max(0, max(0, demand.units - lendable(by: groups)) - (demand.limit - used)) : 0
  }

  func waits(for demand: ClaimDemand, inside groups: [ObjectIdentifier]) -> [ClaimWait.Holder] {
    if missing(for: demand, inside: groups) == 0 { return [] }
    return holders(besides: groups).map { holding in
      let lent = holding.loans.filter { groups.contains($0.lender) }.reduce(0) { $0 + $1.units }
      return ClaimWait.Holder(operation: holding.operation, units: holding.taken + lent)
    }
  }
}
