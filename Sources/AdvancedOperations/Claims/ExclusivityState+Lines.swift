/// Waiting in lines, and what happens when something becomes free.
extension ExclusivityState {
  func lender(of demand: ClaimDemand, _ attempt: Attempt) -> ObjectIdentifier? {
    demand.isRate ? nil : resources[demand.key]?.lender(among: attempt.groups)
  }

  /// The first that waits in a line.
  mutating func front(of key: ClaimKey, lender: ObjectIdentifier?) -> Waiter? {
    let entry = resources[key]?.first(lender: lender) { entry in
      waiters[entry.id]?.place?.number == entry.number
    }
    return entry.flatMap { waiters[$0.id] }
  }

  mutating func joinLine(
    _ id: ObjectIdentifier,
    of demand: ClaimDemand,
    _ effects: inout [Effect]
  ) {
    guard let waiter = waiters[id] else { return }
    let number = nextNumber()
    let lender = lender(of: demand, waiter.attempt)
    waiters[id]?.place = Place(key: demand.key, lender: lender, number: number)
    let entry = ClaimLine.Entry(ticket: waiter.ticket, id: id, number: number)
    resources[demand.key, default: ClaimResource()].joined(entry, lender: lender)
    updateTimer(demand.key, &effects)
  }

  /// Takes a waiter out of its line; returns which resource that was of.
  mutating func leaveLine(_ id: ObjectIdentifier) -> ClaimKey? {
    guard let place = waiters[id]?.place else { return nil }
    waiters[id]?.place = nil
    resources[place.key]?.left(lender: place.lender)
    return place.key
  }

  /// Lets those in front of an operation go by whose queue can't start them now: they try again when
  /// it can.
  mutating func passStuck(_ attempt: Attempt, before ticket: Int64, _ effects: inout [Effect]) {
    for demand in attempt.demands where fits(demand, attempt) {
      let lender = lender(of: demand, attempt)
      while let front = front(of: demand.key, lender: lender), front.ticket < ticket,
        !front.attempt.isByHand, !front.attempt.operation.mayStartNow
      {
        _ = leaveLine(front.attempt.id)
        tellToTryAgain(front.attempt, &effects)
        drain(demand.key, &effects)
      }
    }
  }

  /// Goes through the lines of a resource as long as there is room for the first of each.
  mutating func drain(_ key: ClaimKey, _ effects: inout [Effect]) {
    for lender in resources[key]?.lenders ?? [] { drain(key, lender: lender, &effects) }
    updateTimer(key, &effects)
    forgetIfUnused(key)
  }

  private mutating func drain(
    _ key: ClaimKey,
    lender: ObjectIdentifier?,
    _ effects: inout [Effect]
  ) {
    while let waiter = front(of: key, lender: lender) {
      let attempt = waiter.attempt
      guard let own = attempt.demand(of: key), fits(own, attempt) else {
        let number = waiter.place?.number ?? 0
        if resources[key]?.isNewFront(number, lender: lender) == true {
          effects.append(.moved(attempt.operation))
        }
        return
      }
      _ = leaveLine(attempt.id)
      var busy: [ClaimDemand] = []
      for demand in attempt.demands where !isAvailable(demand, attempt, before: waiter.ticket) {
        busy.append(demand)
      }
      if busy.isEmpty {
        offer(attempt, &effects)
      } else {
        joinLine(attempt.id, of: mostBusy(busy, attempt), &effects)
        effects.append(.moved(attempt.operation))
      }
    }
  }

  private mutating func offer(_ attempt: Attempt, _ effects: inout [Effect]) {
    let operation = attempt.operation
    if !attempt.needsReview && (attempt.isByHand || operation.reserveSlot()) {
      withdrawn(attempt.id)
      grant(attempt, &effects)
      effects.append(attempt.isByHand ? .runByHand(operation) : .slotReserved(operation))
    } else {
      tellToTryAgain(attempt, &effects)
    }
  }

  private func tellToTryAgain(_ attempt: Attempt, _ effects: inout [Effect]) {
    effects.append(
      attempt.isByHand
        ? .reviewByHand(attempt.operation)
        : .tryAgain(attempt.operation, afterReview: attempt.needsReview)
    )
  }

  // MARK: Time

  /// Sets the timer of a bucket to when there will be enough for the first in line.
  mutating func updateTimer(_ key: ClaimKey, _ effects: inout [Effect]) {
    guard let bucket = resources[key]?.bucket else { return }
    var deadline: Duration?
    var clock: OperationClock?
    if let attempt = front(of: key, lender: nil)?.attempt, let own = attempt.demand(of: key) {
      deadline = bucket.allowedAt(own.rates)
      clock = attempt.time?.clock
    }
    if deadline == resources[key]?.timer.deadline { return }
    if let old = resources[key]?.timer.set(deadline) { effects.append(.cancelTimer(old)) }
    guard let deadline, let clock, let number = resources[key]?.timer.number else { return }
    effects.append(.setTimer(key, number: number, deadline: deadline, clock))
  }

  /// A timer was made; returns whether it is still wanted.
  mutating func timerMade(_ timer: OperationTimer, of key: ClaimKey, number: UInt64) -> Bool {
    resources[key]?.timer.made(timer, number: number) ?? false
  }

  mutating func timerFired(
    of key: ClaimKey,
    number: UInt64,
    now: Duration,
    _ effects: inout [Effect]
  ) {
    guard let timer = resources[key]?.timer, timer.number == number, let deadline = timer.deadline
    else { return }
    _ = resources[key]?.timer.set(nil)
    // Timers may be a little early.
    resources[key]?.bucket?.timePassed(to: max(now, deadline))
    drain(key, &effects)
  }
}
