import CoreOperations

/// Something to do after a change of the book, once its lock was released.
enum ClaimEffect {
  /// The operation holds its claim if its queue has a slot: ask, and pass the answer on.
  case offer(Claim)
  /// The operation can try again when its queue can start it.
  case reoffer(AdvancedOperation)
  /// The operation waits for another resource than before, or has become the first waiter.
  case moved(AdvancedOperation)
  case setTimer(Resource.Key, number: UInt64, deadline: Duration, OperationClock)
  case cancelTimer(OperationTimer)
  /// The first waiter has rates, and the time of their clock isn't known.
  case readClock(AdvancedOperation, OperationClock)
  /// An event for the tracer of the domain.
  case trace(ClaimEvent, Operation)
}

/// The book of a domain: which operations hold which resources, and which wait for them.
///
/// A claim that has to wait is in the queue of waiters of one resource that it can't have at the
/// moment. When the first waiter can have that, all of its claim is checked: it is offered to the
/// operation, or waits for another resource that is busy. So no claim is checked in vain twice for
/// the same release.
///
/// An offered claim is held while its queue is asked for a slot, which happens after unlocking: no
/// lock is taken under the lock of the domain. If there is a slot, the operation starts. If not, the
/// next waiters are offered what it has, and the operation tries again when its queue can start it.
///
/// Each event returns a decision, or appends ``ClaimEffect``s to be performed after unlocking.
final class ClaimBook {
  /// The request of an operation for its claim.
  struct Attempt {
    let operation: AdvancedOperation
    let requests: [ClaimRequest]
    /// The groups around the operation, the innermost first.
    let groups: [AdvancedOperation]
    let mayRunOthers: Bool
    /// Whether it waits for what is busy, whatever its requests say.
    let alwaysWaits: Bool
    let time: Time?
  }

  /// The time by which an operation's rates go, read without the lock.
  struct Time {
    let clock: OperationClock
    let now: Duration
  }

  private var resources: [Resource.Key: Resource] = [:]
  private var claims: [ObjectIdentifier: Claim] = [:]
  /// Whether all that happens is recorded.
  var isTraced = false
  private var lastTicket: Int64 = 0
  private var firstTicket: Int64 = 0
  private var lastNumber: UInt64 = 0
  /// The number of resources above which unclaimed ones are forgotten.
  private var resourceLimit = 64

  var resourceCount: Int { resources.count }

  private func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  // MARK: Claims and resources

  func claim(of operation: AdvancedOperation) -> Claim? { claims[ObjectIdentifier(operation)] }

  /// The claim of an operation, created if there is none.
  private func claim(for attempt: Attempt) -> Claim {
    if let claim = claim(of: attempt.operation) { return claim }
    let claim = Claim(attempt)
    for request in attempt.requests { addParts(of: request, to: claim, attempt.time) }
    for part in claim.parts { part.resource.claimCount += 1 }
    claims[ObjectIdentifier(attempt.operation)] = claim
    return claim
  }

  /// Splits a request: a child uses what its groups hold, from the innermost on, and takes the rest
  /// like operations outside.
  ///
  /// Groups hold their claims until their children have ended, so a claim is split once.
  private func addParts(of request: ClaimRequest, to claim: Claim, _ time: Time?) {
    func add(_ units: Int, of resource: Resource) {
      claim.parts.append(Claim.Part(resource: resource, request: request, units: units))
    }
    var open = request.units
    var inner: (group: Claim, room: Resource.Room)?
    for operation in claim.groups {
      guard let group = self.claim(of: operation), let resource = group.room(of: request.subject),
        let room = resource.room
      else { continue }
      // What the outer group has lent to the inner one is there once.
      let lent = inner?.group.units(of: resource) ?? 0
      let units = min(open, room.capacity - lent)
      if units > 0 { add(units, of: resource) }
      open -= units
      if inner == nil { inner = (group, room) } else { inner?.group = group }
    }
    guard let room = inner?.room else { return add(open, of: resource(for: request, time)) }
    // The strictest limit decides: a child that lets in fewer operations than its groups runs next
    // to no more of them, and keeps others out that would be too many for it.
    let isStricter = request.limit.map { $0 < room.limit } ?? false
    if open > 0 || isStricter { add(open, of: room.outermost) }
  }

  private func forget(_ claim: Claim) {
    claims[ObjectIdentifier(claim.operation)] = nil
    for part in claim.parts { part.resource.claimCount -= 1 }
  }

  /// Forgets everything.
  ///
  /// - Returns: The claims and what was in them, to be released without the lock.
  func forgetAll() -> Any {
    let claims = exchange(&claims, with: [:]).values.map { ($0, $0.takeContents()) }
    return (claims, exchange(&resources, with: [:]))
  }

  private func resource(for request: ClaimRequest, _ time: Time?) -> Resource {
    let clock = request.isRate ? time?.clock.identity : nil
    let key = Resource.Key(subject: request.subject, clock: clock?.number)
    if let known = resources[key] { return known }
    if resources.count >= resourceLimit {
      // Not as soon as nothing claims them: the next operation mostly claims the same. Those of a
      // clock that is gone go whatever is claimed next, those of another one with its time.
      resources = resources.filter { !$0.value.isForgettable(time) }
      resourceLimit = max(64, 2 * resources.count)
    }
    let resource = Resource(key, isRate: request.isRate, clock: clock)
    resources[key] = resource
    return resource
  }

  // MARK: Taking

  /// The outcome of an attempt to take a claim.
  enum Decision {
    /// The operation holds its claim.
    case granted
    /// The operation waits; these are to be cancelled first.
    case wait(cancelling: [AdvancedOperation], mayCompleteCycle: Bool)
    /// Not taken, because these hold what is requested, or because there will never be enough.
    case refused(ClaimRequest, holders: [AdvancedOperation], isExcessive: Bool)
    case skipped(ClaimRequest, holders: [AdvancedOperation])
  }

  /// The answer to an attempt to take a claim.
  enum TakeAnswer {
    case decided(Decision)
    /// There is room, but this claim came earlier. Ask whether its queue can start it now, let
    /// others pass if not, and try again.
    case ask(Claim)
  }

  /// An operation wants its claim, with a slot in hand.
  ///
  /// - Parameters:
  ///   - attempt: The request.
  ///   - startable: Claims whose queues could start them a moment ago.
  ///   - effects: Gets what to do after unlocking.
  /// - Returns: What became of it, or a question to answer first.
  func takeCalled(
    _ attempt: Attempt,
    behind startable: [Claim],
    _ effects: inout [ClaimEffect]
  ) -> TakeAnswer {
    let claim = claim(for: attempt)
    // A dependency came and went while the operation waited, so a worker asks although the claim was
    // offered: the operation starts with the slot that its queue gave it, or is told to try again.
    if claim.hasUnits { return .decided(.wait(cancelling: [], mayCompleteCycle: false)) }
    if let time = attempt.time { timePassed(to: time.now, for: claim) }
    let excessive = claim.parts.first { $0.resource.isExcessive($0) }
    if excessive == nil, let front = frontToAsk(claim, besides: startable) { return .ask(front) }
    let left = leaveWaiters(claim)
    let decision = decide(claim, excessive: excessive?.request, &effects)
    if let left { offerToWaiters(of: left, at: attempt.time, &effects) }
    return .decided(decision)
  }

  /// Takes a claim, or has it wait, or neither.
  private func decide(
    _ claim: Claim,
    excessive: ClaimRequest?,
    _ effects: inout [ClaimEffect]
  ) -> Decision {
    if let excessive {
      claim.ticket = nil
      return .refused(excessive, holders: [], isExcessive: true)
    }
    switch decision(about: claim) {
    case .enter:
      take(claim, as: .held, &effects)
      taken(claim, &effects)
      return .granted
    case .fail(let index):
      claim.ticket = nil
      let request = claim.parts[index].request
      return .refused(request, holders: holders(index, claim), isExcessive: false)
    case .skip(let index):
      claim.ticket = nil
      return .skipped(claim.parts[index].request, holders: holders(index, claim))
    case .wait(let index): return wait(claim, for: index, cancelling: [], &effects)
    case .cancelHolders(let index):
      // An operation that has waited itself isn't cancelled while its queue is asked for a slot.
      let inTheWay = claim.parts
        .filter { $0.request.whenBusy == .cancelHolder && !$0.resource.fits($0) }
        .flatMap { $0.resource.holders.map(\.claim) }
        .filter { if case .held = $0.state { true } else { false } }
        .map(\.operation)
        .filter { !claim.isInside($0) }
      return wait(claim, for: index, cancelling: inTheWay, &effects)
    }
  }

  /// The first waiter that alone keeps a claim from a resource, and may be one that its queue can't
  /// start now.
  private func frontToAsk(_ claim: Claim, besides startable: [Claim]) -> Claim? {
    for part in claim.parts {
      if case .turn = part.resource.obstacle(to: part, of: claim),
        let front = part.resource.waiters.first, !startable.contains(where: { $0 === front })
      {
        return front
      }
    }
    return nil
  }

  private func holders(_ index: Int, _ claim: Claim) -> [AdvancedOperation] {
    claim.parts[index].resource.holders.map(\.claim.operation)
  }

  /// What becomes of an operation as things are.
  private func decision(about claim: Claim) -> StartRule.Decision {
    var rule = StartRule(alwaysWaits: claim.alwaysWaits)
    for (index, part) in claim.parts.enumerated() {
      if let obstacle = part.resource.obstacle(to: part, of: claim) {
        rule.isBusy(index, part.request.whenBusy, obstacle)
      }
    }
    return rule.decision
  }

  private func take(
    _ claim: Claim,
    as state: Claim.State,
    _ effects: inout [ClaimEffect]
  ) {
    for index in claim.parts.indices {
      let resource = claim.parts[index].resource
      resource.take(&claim.parts[index], by: claim, number: nextNumber())
      updateTimer(resource, &effects)
    }
    claim.state = state
  }

  /// The operation starts with its claim, and waits no more.
  private func taken(_ claim: Claim, _ effects: inout [ClaimEffect]) {
    if isTraced { effects.append(.trace(.taken, claim.operation)) }
    claim.ticket = nil
  }

  private func timePassed(to now: Duration, for claim: Claim) {
    for part in claim.parts where part.resource.isRate {
      let resource = part.resource
      if resource.bucket == nil { resource.bucket = RateBucket(now: now) }
      resource.bucket?.timePassed(to: now)
    }
  }

  // MARK: Waiting

  private func wait(
    _ claim: Claim,
    for index: Int,
    cancelling holders: [AdvancedOperation],
    _ effects: inout [ClaimEffect]
  ) -> Decision {
    if claim.ticket == nil {
      lastTicket += 1
      claim.ticket = lastTicket
      claim.wasMoved = false
      if isTraced { effects.append(.trace(.waits, claim.operation)) }
    }
    joinWaiters(claim, for: index, &effects)
    return .wait(cancelling: holders, mayCompleteCycle: mayCompleteCycle(claim))
  }

  private func joinWaiters(_ claim: Claim, for index: Int, _ effects: inout [ClaimEffect]) {
    claim.state = .waiting(part: index)
    let resource = claim.parts[index].resource
    resource.waiters.join(claim)
    updateTimer(resource, &effects)
  }

  /// Takes a claim out of the waiters.
  ///
  /// - Returns: The resource that it waited for, whose other waiters may have waited for nothing
  ///   else; nil if it didn't wait.
  private func leaveWaiters(_ claim: Claim) -> Resource? {
    guard let resource = claim.awaited?.resource else { return nil }
    claim.awaitsTime = false
    claim.state = .idle
    resource.waiters.leave(claim)
    return resource
  }

  /// Offers their claims to the waiters for a resource, as long as there is room for the first.
  ///
  /// - Parameters:
  ///   - resource: The resource.
  ///   - time: What is known of the time; a waiter with rates by another clock stays the first until
  ///     that was read, since what it starts with is counted.
  ///   - effects: Gets what to do after unlocking.
  private func offerToWaiters(
    of resource: Resource,
    at time: Time?,
    _ effects: inout [ClaimEffect]
  ) {
    defer { updateTimer(resource, &effects) }
    while let claim = resource.waiters.first, let part = claim.awaited {
      guard resource.fits(part) else {
        if resource.waiters.isFirstUnchecked {
          resource.waiters.firstIsChecked()
          noteMoved(claim, &effects)
        }
        return
      }
      if let clock = claim.clock {
        guard let time, time.clock.identity === clock.identity else {
          if !claim.awaitsTime { effects.append(.readClock(claim.operation, clock)) }
          claim.awaitsTime = true
          return
        }
        timePassed(to: time.now, for: claim)
      }
      _ = leaveWaiters(claim)
      switch decision(about: claim) {
      case .enter:
        take(claim, as: .offered, &effects)
        effects.append(.offer(claim))
      case .wait(let index):
        joinWaiters(claim, for: index, &effects)
        noteMoved(claim, &effects)
      // Another resource became busy in the meantime that isn't to be waited for.
      case .cancelHolders, .skip, .fail: tellToTryAgain(claim, &effects)
      }
    }
  }

  /// The queue of a claim that was offered has a slot for the operation, or has none.
  func offerAnswered(_ claim: Claim, isAccepted: Bool, _ effects: inout [ClaimEffect]) {
    // The operation may have ended, or started and released its claim.
    guard case .offered = claim.state else { return }
    if isAccepted {
      claim.state = .held
      taken(claim, &effects)
    } else {
      takeStartsBack(claim)
      giveBack(claim, &effects)
      tellToTryAgain(claim, &effects)
    }
  }

  /// The queue of a waiter can't start it now: later ones may pass.
  func letOthersPass(_ claim: Claim, _ effects: inout [ClaimEffect]) {
    guard let left = leaveWaiters(claim) else { return }
    tellToTryAgain(claim, &effects)
    offerToWaiters(of: left, at: nil, &effects)
  }

  private func tellToTryAgain(_ claim: Claim, _ effects: inout [ClaimEffect]) {
    effects.append(.reoffer(claim.operation))
  }

  /// Has an operation check whether its wait completes a cycle, if there may be any.
  func noteMoved(_ claim: Claim, _ effects: inout [ClaimEffect]) {
    if mayCompleteCycle(claim) { effects.append(.moved(claim.operation)) }
  }

  /// Lets a waiter come before all others, because those in front wait for it in some other way;
  /// once, because two could pass each other forever.
  ///
  /// - Returns: Whether it came after others until now.
  func movedToFront(_ operation: AdvancedOperation, _ effects: inout [ClaimEffect]) -> Bool {
    guard let claim = claim(of: operation), case .waiting(let index) = claim.state,
      !claim.wasMoved, isBehind(operation), let resource = leaveWaiters(claim)
    else { return false }
    firstTicket -= 1
    claim.ticket = firstTicket
    claim.wasMoved = true
    joinWaiters(claim, for: index, &effects)
    // Those that it passed wait for it now.
    effects.append(.moved(operation))
    offerToWaiters(of: resource, at: nil, &effects)
    return true
  }

  // MARK: Releasing

  /// An operation that is quiet releases its claim, which is offered to operations that wait.
  ///
  /// What rates have counted stays counted.
  func releaseCalled(_ operation: AdvancedOperation, _ effects: inout [ClaimEffect]) {
    guard let claim = claim(of: operation) else { return }
    if let left = leaveWaiters(claim) { offerToWaiters(of: left, at: nil, &effects) }
    if claim.hasUnits {
      if isTraced, case .held = claim.state { effects.append(.trace(.givenBack, operation)) }
      giveBack(claim, &effects)
    }
    forget(claim)
  }

  private func giveBack(_ claim: Claim, _ effects: inout [ClaimEffect]) {
    claim.state = .idle
    // All of them before any is offered.
    for part in claim.parts { part.resource.release(by: claim) }
    for part in claim.parts { offerToWaiters(of: part.resource, at: nil, &effects) }
  }

  /// Has rates forget a start that has not begun.
  private func takeStartsBack(_ claim: Claim) {
    for index in claim.parts.indices {
      if let start = claim.parts[index].start.take() {
        claim.parts[index].resource.bucket?.takenBack(start)
      }
    }
  }

  /// An operation that holds its claim doesn't start, or not now.
  ///
  /// - Parameters:
  ///   - operation: The operation.
  ///   - time: The time by which its rates go.
  ///   - isOver: Whether the operation won't execute: it leaves the waiters, and keeps what it holds
  ///     until its end, except for the starts that rates have counted.
  ///   - effects: Gets what to do after unlocking.
  func startCancelled(
    _ operation: AdvancedOperation,
    _ time: Time?,
    isOver: Bool,
    _ effects: inout [ClaimEffect]
  ) {
    guard let claim = claim(of: operation) else { return }
    if let left = leaveWaiters(claim) { offerToWaiters(of: left, at: time, &effects) }
    if isOver { claim.ticket = nil }
    if claim.hasUnits, let time {
      timePassed(to: time.now, for: claim)
      // The tokens are offered with the rest of the claim, when the operation releases it.
      takeStartsBack(claim)
    }
    if !isOver || !claim.hasUnits { releaseCalled(operation, &effects) }
  }

  /// An operation stops waiting.
  ///
  /// - Returns: Whether it waited, so that it neither holds its claim nor was told to try again.
  func withdrawnFromWaiters(
    _ operation: AdvancedOperation,
    _ effects: inout [ClaimEffect]
  ) -> Bool {
    guard isWaiting(operation) else { return false }
    startCancelled(operation, nil, isOver: true, &effects)
    return true
  }

  /// The capacity of a pool was changed: checks its waiters again.
  ///
  /// An operation that needs more than the pool has in all now tries again, and fails then.
  func capacityChanged(of pool: ResourcePool, _ effects: inout [ClaimEffect]) {
    let key = Resource.Key(subject: .pool(ObjectIdentifier(pool)))
    guard let resource = resources[key] else { return }
    let refused = claims.values.filter { claim in
      claim.awaited != nil
        && claim.parts.contains { $0.resource === resource && resource.isExcessive($0) }
    }
    for claim in refused.sorted(by: { $0.isBefore($1) }) { letOthersPass(claim, &effects) }
    offerToWaiters(of: resource, at: nil, &effects)
    // With fewer units, the first may wait for more of the holders.
    if let first = resource.waiters.first { noteMoved(first, &effects) }
  }

  // MARK: Time

  /// The clock of a waiter was read; the waiter may have left in the meantime.
  func clockRead(_ time: Time, for operation: AdvancedOperation, _ effects: inout [ClaimEffect]) {
    guard let claim = claim(of: operation), let resource = claim.awaited?.resource else { return }
    claim.awaitsTime = false
    offerToWaiters(of: resource, at: time, &effects)
  }

  /// Sets the timer of a rate to the time at which there will be enough for the first waiter.
  private func updateTimer(_ resource: Resource, _ effects: inout [ClaimEffect]) {
    guard let key = resource.key, resource.isRate, let bucket = resource.bucket else { return }
    let first = resource.waiters.first
    let deadline = first?.awaited.map { bucket.allowedAt($0.request.rates) }
    if deadline == resource.timer.deadline { return }
    let number = nextNumber()
    if let old = resource.timer.set(deadline, number: number) {
      effects.append(.cancelTimer(old))
    }
    guard let deadline, let clock = first?.clock else { return }
    effects.append(.setTimer(key, number: number, deadline: deadline, clock))
  }

  /// A timer was created; returns whether it is still wanted.
  func timerCreated(_ timer: OperationTimer, of key: Resource.Key, number: UInt64) -> Bool {
    resources[key]?.timer.created(timer, number: number) ?? false
  }

  func timerFired(
    of key: Resource.Key,
    number: UInt64,
    _ time: Time,
    _ effects: inout [ClaimEffect]
  ) {
    guard let resource = resources[key], resource.timer.number == number,
      let deadline = resource.timer.deadline
    else { return }
    _ = resource.timer.set(nil, number: nextNumber())
    // Timers may be a little early.
    let time = Time(clock: time.clock, now: max(time.now, deadline))
    resource.bucket?.timePassed(to: time.now)
    offerToWaiters(of: resource, at: time, &effects)
  }
}
