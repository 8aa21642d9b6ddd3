/// The account itself: a plain value behind the lock of its domain.
///
/// Whoever has to wait stands in the line of one resource, one that it can't have at the moment. When
/// that becomes free for the first in line, all of its claims are looked at: it gets them, moves on to
/// the line of another one that is busy, or, if its queue can't start it now, is told to try again
/// when that can, and stands in no line meanwhile. So nobody is looked at in vain twice for the same
/// release, and who can't start keeps nobody waiting.
struct ExclusivityState {
  /// What the caller does after unlocking.
  enum Effect {
    /// It has slot and claims; its queue has to look.
    case slotReserved(AdvancedOperation)
    /// Its claims were free a moment ago.
    case tryAgain(AdvancedOperation, afterReview: Bool)
    /// The same for one that is in no queue.
    case reviewByHand(AdvancedOperation)
    /// It has its claims, and needs no slot.
    case runByHand(AdvancedOperation)
    /// It waits for something else than before, or has come to the front.
    case moved(AdvancedOperation)
    case setTimer(ClaimKey, number: UInt64, deadline: Duration, OperationClock)
    case cancelTimer(OperationTimer)
    /// What whoever traces the domain is told.
    case trace(ClaimEvent, AdvancedOperation)
  }

  /// What an operation says when it wants its claims.
  struct Attempt {
    let operation: AdvancedOperation
    let demands: [ClaimDemand]
    /// Around the operation, the innermost first.
    let groups: [ObjectIdentifier]
    /// The time by which its rates go; nil when it has none.
    let time: (clock: OperationClock, now: Duration)?
    /// Whether the operation has to be asked before it is offered again.
    let needsReview: Bool
    /// Whether the operation is in no queue and needs no slot.
    let isByHand: Bool

    var id: ObjectIdentifier { ObjectIdentifier(operation) }

    func demand(of key: ClaimKey) -> ClaimDemand? { demands.first { $0.key == key } }
  }

  struct Waiter {
    var attempt: Attempt
    /// When it began to wait, as a number; negative for those that were moved to the front.
    var ticket: Int64
    var wasMoved = false
    /// Where it stands; nil when it was told to try again and has not come back.
    var place: Place?
  }

  struct Place {
    let key: ClaimKey
    let lender: ObjectIdentifier?
    let number: UInt64
  }

  var resources: [ClaimKey: ClaimResource] = [:]
  var waiters: [ObjectIdentifier: Waiter] = [:]
  /// Whether somebody wants to be told of all that happens.
  var isTraced = false
  private var holdings: [ObjectIdentifier: [ClaimKey]] = [:]
  /// When the conditions of operations with immediate ones were asked.
  private var questions: [ObjectIdentifier: (time: UInt64, keys: [ClaimKey])] = [:]
  private var lastTicket: Int64 = 0
  private var firstTicket: Int64 = 0
  private var lastNumber: UInt64 = 0
  /// Counts what was given back.
  private var time: UInt64 = 0
  /// How many buckets there may be before those that are full are forgotten.
  private var bucketLimit = 64

  init() {}

  mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// A ticket that comes before all others.
  mutating func nextFirstTicket() -> Int64 {
    firstTicket -= 1
    return firstTicket
  }

  // MARK: Questions

  mutating func conditionsAsked(_ keys: [ClaimKey], for operation: AdvancedOperation) {
    let id = ObjectIdentifier(operation)
    if questions[id] == nil {
      for key in keys { resources[key, default: ClaimResource()].questionCount += 1 }
    }
    questions[id] = (time, keys)
  }

  mutating func forgetQuestion(of id: ObjectIdentifier) {
    guard let question = questions.removeValue(forKey: id) else { return }
    for key in question.keys {
      resources[key]?.questionCount -= 1
      forgetIfUnused(key)
    }
  }

  private func isOutdated(_ id: ObjectIdentifier) -> Bool {
    guard let question = questions[id] else { return false }
    return question.keys.contains { (resources[$0]?.lastRelease ?? 0) > question.time }
  }

  mutating func forgetIfUnused(_ key: ClaimKey) {
    if resources[key]?.isUnused == true { resources[key] = nil }
  }

  // MARK: Taking

  mutating func takeCalled(
    _ attempt: Attempt,
    _ effects: inout [Effect]
  ) -> ExclusivityDomain.Decision {
    let id = attempt.id
    let left = leaveLine(id)
    defer { if let left { drain(left, &effects) } }
    if let demand = attempt.demands.first(where: \.isExcessive) {
      withdrawn(id)
      return .refused(demand, holders: [], isExcessive: true)
    }
    let ticket = waiters[id]?.ticket ?? .max
    timePassed(attempt)
    passStuck(attempt, before: ticket, &effects)
    let busy = attempt.demands.filter { !isAvailable($0, attempt, before: ticket) }
    // A refusal counts before anything is done to others.
    let first =
      busy.first { $0.whenBusy == .fail || $0.whenBusy == .skip }
      ?? busy.first { $0.whenBusy == .cancelHolder } ?? busy.first
    guard let first else {
      if isOutdated(id) {
        noteWaiter(attempt, &effects)
        return .outdated
      }
      withdrawn(id)
      grant(attempt, &effects)
      return .granted
    }
    switch first.whenBusy {
    case .fail:
      withdrawn(id)
      return .refused(first, holders: holders(of: first, attempt), isExcessive: false)
    case .skip:
      withdrawn(id)
      return .skipped(first, holders: holders(of: first, attempt))
    case .wait, .cancelHolder:
      let inTheWay = busy.filter { $0.whenBusy == .cancelHolder && !fits($0, attempt) }
        .flatMap { holders(of: $0, attempt) }
      noteWaiter(attempt, &effects)
      joinLine(id, of: mostBusy(busy, attempt), &effects)
      return .wait(cancelling: inTheWay)
    }
  }

  private mutating func timePassed(_ attempt: Attempt) {
    guard let (_, now) = attempt.time else { return }
    for demand in attempt.demands where demand.isRate {
      if resources[demand.key]?.bucket == nil {
        forgetFullBuckets(attempt)
        resources[demand.key, default: ClaimResource()].bucket = RateBucket(now: now)
      }
      resources[demand.key]?.bucket?.timePassed(to: now)
    }
  }

  private mutating func forgetFullBuckets(_ attempt: Attempt) {
    guard let (clock, now) = attempt.time, resources.count >= bucketLimit else { return }
    let full = resources.filter { key, resource in
      key.clock == clock.identity && resource.line.isEmpty && resource.childLines.isEmpty
        && resource.bucket?.isFull(at: now) == true
    }
    for key in full.keys { resources[key] = nil }
    bucketLimit = max(64, 2 * resources.count)
  }

  func fits(_ demand: ClaimDemand, _ attempt: Attempt) -> Bool {
    resources[demand.key]?.fits(demand, inside: attempt.groups) ?? true
  }

  /// Whether there is room, and nobody who came earlier waits for it.
  mutating func isAvailable(
    _ demand: ClaimDemand,
    _ attempt: Attempt,
    before ticket: Int64
  ) -> Bool {
    guard fits(demand, attempt) else { return false }
    guard let front = front(of: demand.key, lender: lender(of: demand, attempt)) else {
      return true
    }
    return front.ticket >= ticket
  }

  func holders(of demand: ClaimDemand, _ attempt: Attempt) -> [AdvancedOperation] {
    (resources[demand.key]?.holders(besides: attempt.groups) ?? []).map(\.operation)
  }

  /// Of what is busy, that which an operation waits for: where it keeps the fewest others waiting.
  func mostBusy(_ busy: [ClaimDemand], _ attempt: Attempt) -> ClaimDemand {
    busy.first { resources[$0.key]?.isFull(for: $0) == true && !$0.isRate }
      ?? busy.first { !fits($0, attempt) } ?? busy[0]
  }

  mutating func grant(_ attempt: Attempt, _ effects: inout [Effect]) {
    if isTraced { effects.append(.trace(.taken, attempt.operation)) }
    var held: [ClaimKey] = []
    for demand in attempt.demands {
      let number = nextNumber()
      resources[demand.key, default: ClaimResource()].taken(
        by: attempt.operation,
        demand,
        inside: attempt.groups,
        number: number
      )
      if demand.isRate { updateTimer(demand.key, &effects) } else { held.append(demand.key) }
    }
    holdings[attempt.id] = held
    forgetQuestion(of: attempt.id)
  }

  /// Makes the operation known as one that waits, in no line yet; it keeps a ticket that it has.
  private mutating func noteWaiter(_ attempt: Attempt, _ effects: inout [Effect]) {
    if waiters[attempt.id] == nil {
      lastTicket += 1
      waiters[attempt.id] = Waiter(attempt: attempt, ticket: lastTicket)
      if isTraced { effects.append(.trace(.waits, attempt.operation)) }
    } else {
      waiters[attempt.id]?.attempt = attempt
    }
  }

  // MARK: Giving back

  mutating func releaseCalled(_ operation: AdvancedOperation, _ effects: inout [Effect]) {
    let id = ObjectIdentifier(operation)
    withdrawCalled(operation, &effects)
    guard let keys = holdings.removeValue(forKey: id) else { return }
    if isTraced { effects.append(.trace(.givenBack, operation)) }
    time += 1
    for key in keys {
      resources[key]?.givenBack(by: operation)
      resources[key]?.lastRelease = time
    }
    for key in keys { drain(key, &effects) }
  }

  mutating func withdrawCalled(_ operation: AdvancedOperation, _ effects: inout [Effect]) {
    let id = ObjectIdentifier(operation)
    forgetQuestion(of: id)
    let left = leaveLine(id)
    withdrawn(id)
    // Those behind it may have waited for nothing else.
    if let left { drain(left, &effects) }
  }

  /// Forgets a waiter that stands in no line; whoever calls has a reference to the operation.
  mutating func withdrawn(_ id: ObjectIdentifier) { waiters[id] = nil }
}

#if DEBUG
/// What is wrong with these is what the ``DeliberateFlaw``s are about.
extension ExclusivityState {
  func areFree(_ attempt: Attempt) -> Bool { attempt.demands.allSatisfy { fits($0, attempt) } }

  mutating func grantUnseen(_ attempt: Attempt, _ effects: inout [Effect]) {
    let left = leaveLine(attempt.id)
    withdrawn(attempt.id)
    grant(attempt, &effects)
    if let left { drain(left, &effects) }
  }

  mutating func anybodyReleased(by operation: AdvancedOperation, _ effects: inout [Effect]) {
    guard let waiter = waiters[ObjectIdentifier(operation)],
      let demand = waiter.attempt.demands.first,
      let holder = holders(of: demand, waiter.attempt).first
    else { return }
    releaseCalled(holder, &effects)
  }
}
#endif
