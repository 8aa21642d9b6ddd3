import CoreOperations

/// The ledger of a domain: which operations hold what, and which stand in which line.
///
/// An operation that has to wait stands in the line of one resource, one that it can't have at the
/// moment. When that becomes free for the first in line, all of its claims are looked at: it gets
/// them, moves on to the line of another one that is busy, or, if its queue can't start it now,
/// leaves the line and tries again when its queue can. So no operation is looked at in vain twice
/// for the same release, and one that can't start lets others pass.
///
/// The rules are values: ``LineRule`` for one resource, ``StartRule`` for all claims of an
/// operation. What is left to do afterwards are ``ClaimEffects``, in the order in which things
/// happened.
///
/// All that it consists of is shared: resources, lines and claimants are objects that only the
/// ledger knows. Each is looked up once per operation, and changed where it is; looking them up at
/// each step, and copying them, was half of the cost of a claim (callgrind). It stands behind the
/// lock of its domain, once.
struct ClaimLedger {
  /// What an operation says when it wants its claims.
  struct Attempt {
    let operation: any ClaimHolder
    let demands: [ClaimDemand]
    let terms: Claimant.Terms
    let time: Time?
  }

  /// The time by which an operation's rates go, looked up without the lock; none if it has no
  /// rates.
  struct Time {
    let clock: OperationClock
    let now: Duration
  }

  /// What became of an attempt to take all claims of an operation.
  enum Decision {
    /// The operation has them.
    case granted
    /// In line; those are to be cancelled first.
    case wait(cancelling: [any ClaimHolder], mayCompleteCycle: Bool)
    /// Not taken, because these hold what is claimed, or because there will never be enough.
    case refused(ClaimDemand, holders: [any ClaimHolder], isExcessive: Bool)
    case skipped(ClaimDemand, holders: [any ClaimHolder])
  }

  private var resources: [ClaimKey: ClaimResource] = [:]
  private(set) var claimants: [ObjectIdentifier: Claimant] = [:]
  /// Whether all that happens is recorded.
  var isTraced = false
  private var lastTicket: Int64 = 0
  private var firstTicket: Int64 = 0
  private var lastNumber: UInt64 = 0
  /// How many resources there may be before unclaimed ones are forgotten.
  private var resourceLimit = 64

  mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// A ticket that comes before all others.
  mutating func nextFirstTicket() -> Int64 {
    firstTicket -= 1
    return firstTicket
  }

  // MARK: Who is known

  func claimant(_ operation: any LayeredOperation) -> Claimant? {
    claimants[ObjectIdentifier(operation)]
  }

  func resource(_ key: ClaimKey) -> ClaimResource? { resources[key] }

  /// The record of an operation, made if there is none.
  private mutating func claimant(
    _ operation: any ClaimHolder,
    _ demands: [ClaimDemand],
    _ time: Time?
  ) -> Claimant {
    if let known = claimant(operation) { return known }
    let claimant = Claimant(operation, demands)
    for demand in demands { resource(for: demand, time).claimed(by: demand) }
    claimants[ObjectIdentifier(operation)] = claimant
    return claimant
  }

  /// Forgets an operation that has nothing and waits for nothing.
  mutating func forget(_ claimant: Claimant) {
    claimants[ObjectIdentifier(claimant.operation)] = nil
    for demand in claimant.demands {
      demand.resource.claimantCount -= 1
      demand.knownResource = nil
    }
  }

  private mutating func resource(
    for demand: ClaimDemand,
    _ time: Time?
  ) -> ClaimResource {
    let clock = demand.isRate ? time?.clock.identity : nil
    let key = ClaimKey(demand.subject, clock: clock?.number)
    if let known = resources[key] { return known }
    if resources.count >= resourceLimit { forgetResources(time) }
    let made = ClaimResource(key, demand, clock: clock)
    resources[key] = made
    return made
  }

  /// Forgets resources that a new one would be no different from.
  ///
  /// They aren't forgotten as soon as they are like that: the next operation mostly claims the
  /// same. Those of a clock that is gone go whatever is claimed next, those of another one when
  /// that is looked at.
  private mutating func forgetResources(_ time: Time?) {
    resources = resources.filter { !$0.value.isForgettable(time) }
    resourceLimit = max(64, 2 * resources.count)
  }

  var resourceCount: Int { resources.count }
  #if DEBUG
  var lookCount: Int { resources.values.reduce(0) { $0 + $1.lookCount } }
  #endif

  // MARK: Taking

  mutating func takeCalled(
    _ attempt: Attempt,
    _ effects: inout ClaimEffects
  ) -> Decision {
    let claimant = claimant(attempt.operation, attempt.demands, attempt.time)
    // What it said before is released when that isn't accessed any more; with this, the compiler
    // leaves the checks out that no two accesses overlap.
    withExtendedLifetime(exchange(&claimant.terms, with: attempt.terms)) {}
    let left = leaveLine(claimant)
    defer { if let left { goOn(from: left, at: attempt.time, &effects) } }
    if let demand = attempt.demands.first(where: { isExcessive($0, claimant) }) {
      claimant.ticket = nil
      return .refused(demand, holders: [], isExcessive: true)
    }
    if let time = attempt.time { timePassed(to: time.now, for: claimant) }
    passStuck(claimant, at: attempt.time, &effects)
    switch decision(about: claimant) {
    case .enter:
      grant(claimant, &effects)
      return .granted
    case .fail(let index):
      claimant.ticket = nil
      let demand = claimant.demands[index]
      return .refused(demand, holders: holders(of: demand, claimant), isExcessive: false)
    case .skip(let index):
      claimant.ticket = nil
      let demand = claimant.demands[index]
      return .skipped(demand, holders: holders(of: demand, claimant))
    case .wait(let index): return wait(claimant, for: index, cancelling: [], &effects)
    case .cancelHolders(let index):
      let inTheWay = claimant.demands
        .filter { $0.whenBusy == .cancelHolder && !fits($0, claimant) }
        .flatMap { holders(of: $0, claimant) }
      return wait(claimant, for: index, cancelling: inTheWay, &effects)
    }
  }

  private mutating func wait(
    _ claimant: Claimant,
    for index: Int,
    cancelling holders: [any ClaimHolder],
    _ effects: inout ClaimEffects
  ) -> Decision {
    noteWaiting(claimant, &effects)
    joinLine(claimant, of: claimant.demands[index], &effects)
    return .wait(cancelling: holders, mayCompleteCycle: mayCompleteCycle(claimant))
  }

  func timePassed(to now: Duration, for claimant: Claimant) {
    for demand in claimant.demands where demand.isRate {
      let resource = demand.resource
      if resource.bucket == nil { resource.bucket = RateBucket(now: now) }
      resource.bucket?.timePassed(to: now)
    }
  }

  func fits(_ demand: ClaimDemand, _ claimant: Claimant) -> Bool {
    demand.resource.fits(demand, inside: claimant.terms.groups)
  }

  /// Whether there will never be enough for a demand, whatever others give back.
  func isExcessive(_ demand: ClaimDemand, _ claimant: Claimant) -> Bool {
    if demand.units <= demand.limit { return false }
    let lenders = demand.resource.lenders(inside: claimant.terms.groups)
    // What one group has lent to the next is there once.
    return demand.isExcessive(besides: lenders.reduce(0) { $0 + $1.taken })
  }

  func way(of claimant: Claimant, to demand: ClaimDemand) -> ClaimResource.Way {
    demand.resource.way(for: demand, inside: claimant.terms.groups, ticket: claimant.ticket)
  }

  /// Whether there is room, and no operation that came earlier waits for it.
  func isAvailable(_ demand: ClaimDemand, _ claimant: Claimant) -> Bool {
    #if DEBUG
    demand.resource.lookCount += 1
    #endif
    if case .open = way(of: claimant, to: demand) { return true }
    return false
  }

  func holders(of demand: ClaimDemand, _ claimant: Claimant) -> [any ClaimHolder] {
    demand.resource.held(besides: claimant.terms.groups).map(\.by)
  }

  /// What becomes of an operation as things are.
  func decision(about claimant: Claimant) -> StartRule.Decision {
    var rule = StartRule(alwaysWaits: claimant.terms.alwaysWaits)
    for (index, demand) in claimant.demands.enumerated() where !isAvailable(demand, claimant) {
      let isFull = !demand.isRate && demand.resource.isFull(for: demand)
      rule.isBusy(index, demand.whenBusy, isFull ? .full : fits(demand, claimant) ? .turn : .room)
    }
    return rule.decision
  }

  /// The operation has its claims, and waits no more.
  mutating func grant(_ claimant: Claimant, _ effects: inout ClaimEffects) {
    if isTraced { effects.append(.trace(.taken, claimant.operation)) }
    for demand in claimant.demands {
      let resource = demand.resource
      resource.taken(
        by: claimant.operation,
        demand,
        inside: claimant.terms.groups,
        number: nextNumber()
      )
      if demand.isRate { updateTimer(resource, &effects) }
    }
    claimant.ticket = nil
    claimant.hasItsClaims = true
  }

  /// Makes the operation one that waits, in no line yet; it keeps a ticket that it has.
  private mutating func noteWaiting(_ claimant: Claimant, _ effects: inout ClaimEffects) {
    if claimant.ticket != nil { return }
    lastTicket += 1
    claimant.ticket = lastTicket
    claimant.wasMoved = false
    if isTraced { effects.append(.trace(.waits, claimant.operation)) }
  }
}
