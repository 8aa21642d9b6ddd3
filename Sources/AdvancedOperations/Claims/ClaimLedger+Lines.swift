import CoreOperations

/// Waiting in lines, and what happens when something becomes free.
extension ClaimLedger {
  mutating func joinLine(
    _ claimant: Claimant,
    of demand: ClaimDemand,
    _ effects: inout ClaimEffects
  ) {
    let number = nextNumber()
    let resource = demand.resource
    let line = resource.lineToJoin(for: demand, inside: claimant.terms.groups)
    claimant.place = Claimant.Place(line: line, demand: demand, number: number)
    line.joined(claimant, number: number)
    updateTimer(resource, &effects)
  }

  /// Takes a waiter out of its line; returns where it stood.
  func leaveLine(_ claimant: Claimant) -> Claimant.Place? {
    claimant.awaitsTime = false
    guard let place = claimant.place.take() else { return nil }
    place.line.left(claimant)
    return place
  }

  /// Lets those go on that stand where an operation has left, or its time is known: they may have
  /// waited for nothing else.
  mutating func goOn(from place: Claimant.Place, at time: Time?, _ effects: inout ClaimEffects) {
    drain(place.line, at: time, &effects)
    updateTimer(place.demand.resource, &effects)
  }

  /// Lets those in front of an operation go by whose queue can't start them now: they try again
  /// when it can.
  mutating func passStuck(_ claimant: Claimant, at time: Time?, _ effects: inout ClaimEffects) {
    for demand in claimant.demands where fits(demand, claimant) {
      while case .behind(let line) = way(of: claimant, to: demand), let front = line.first,
        !front.operation.mayStartNow, let left = leaveLine(front)
      {
        tellToTryAgain(front, &effects)
        goOn(from: left, at: time, &effects)
      }
    }
  }

  /// Goes through a line, and those further out, as long as there is room for the first of one.
  ///
  /// What is free in none of them is free in no other line: those of children that wait for more
  /// than their group holds stand in them, too.
  ///
  /// - Parameters:
  ///   - start: The line.
  ///   - time: What is known of the time; one with rates by another clock stays the first until
  ///     that was looked at, since what it starts with is counted.
  ///   - effects: Gets what is left to do.
  mutating func drain(_ start: ClaimLine, at time: Time?, _ effects: inout ClaimEffects) {
    var next: ClaimLine? = start
    var noted: Claimant?
    while let line = next {
      guard let claimant = line.first, let place = claimant.place else {
        next = line.outer
        continue
      }
      guard isAvailable(place.demand, claimant) else {
        // Once, of however many lines it is the first.
        if line.isNewFront(place.number), noted !== claimant {
          noteMoved(claimant, &effects)
          noted = claimant
        }
        next = line.outer
        continue
      }
      if let clock = claimant.terms.clock {
        guard let time, time.clock.identity === clock.identity else {
          return needTime(claimant, clock, &effects)
        }
        timePassed(to: time.now, for: claimant)
      }
      // Others are first now from there on.
      next = place.line
      _ = leaveLine(claimant)
      switch decision(about: claimant) {
      case .enter: offer(claimant, &effects)
      case .wait(let index):
        joinLine(claimant, of: claimant.demands[index], &effects)
        noteMoved(claimant, &effects)
      // Another claim became busy meanwhile that isn't to be waited for: its policy decides.
      case .cancelHolders, .skip, .fail: tellToTryAgain(claimant, &effects)
      }
    }
  }

  /// Has an operation look whether its wait completes a cycle, if there may be any.
  func noteMoved(_ claimant: Claimant, _ effects: inout ClaimEffects) {
    if mayCompleteCycle(claimant) { effects.append(.moved(claimant.operation)) }
  }

  private mutating func offer(_ claimant: Claimant, _ effects: inout ClaimEffects) {
    let operation = claimant.operation
    if operation.reserveSlot() {
      grant(claimant, &effects)
      effects.append(.slotReserved(operation))
    } else {
      tellToTryAgain(claimant, &effects)
    }
  }

  func tellToTryAgain(_ claimant: Claimant, _ effects: inout ClaimEffects) {
    effects.append(.reoffer(claimant.operation))
  }

  // MARK: Time

  /// Has the clock of an operation looked at, which isn't done with the lock held.
  private func needTime(
    _ claimant: Claimant,
    _ clock: OperationClock,
    _ effects: inout ClaimEffects
  ) {
    if claimant.awaitsTime { return }
    claimant.awaitsTime = true
    effects.append(.lookAtClock(claimant.operation, clock))
  }

  /// A clock was looked at for an operation, which may have left its line meanwhile.
  mutating func timeCame(
    _ time: Time,
    for operation: any ClaimHolder,
    _ effects: inout ClaimEffects
  ) {
    guard let claimant = claimant(operation), let place = claimant.place else { return }
    claimant.awaitsTime = false
    goOn(from: place, at: time, &effects)
  }

  /// Sets the timer of a bucket to when there will be enough for the first in line.
  mutating func updateTimer(_ resource: ClaimResource, _ effects: inout ClaimEffects) {
    guard resource.isRate, let bucket = resource.bucket else { return }
    let front = resource.line.first
    let deadline = front?.place.map { bucket.allowedAt($0.demand.rates) }
    if deadline == resource.timer.deadline { return }
    let number = nextNumber()
    if let old = resource.timer.set(deadline, number: number) {
      effects.append(.cancelTimer(old))
    }
    guard let deadline, let clock = front?.terms.clock else { return }
    effects.append(.setTimer(resource.key, number: number, deadline: deadline, clock))
  }

  /// A timer was made; returns whether it is still wanted.
  func timerMade(_ timer: OperationTimer, of key: ClaimKey, number: UInt64) -> Bool {
    resource(key)?.timer.made(timer, number: number) ?? false
  }

  mutating func timerFired(
    of key: ClaimKey,
    number: UInt64,
    _ time: Time,
    _ effects: inout ClaimEffects
  ) {
    guard let resource = resource(key), resource.timer.number == number,
      let deadline = resource.timer.deadline
    else { return }
    _ = resource.timer.set(nil, number: nextNumber())
    // Timers may be a little early.
    let time = Time(clock: time.clock, now: max(time.now, deadline))
    resource.bucket?.timePassed(to: time.now)
    drain(resource.line, at: time, &effects)
    updateTimer(resource, &effects)
  }
}
