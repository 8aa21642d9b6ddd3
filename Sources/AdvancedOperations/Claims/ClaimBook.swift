import CoreOperations

/// An action to perform after a change of the book, when its lock has been released.
enum ClaimEffect {
  /// Ask the operation's queue for a slot, and pass the answer to the book. With a slot, the operation holds
  /// its claim.
  case offer(Claim)
  /// Let the operation try again when its queue can start it.
  case reoffer(AdvancedOperation)
  /// Let the operation check for a cycle, because it waits for another resource than before or has become the
  /// first waiter.
  case moved(AdvancedOperation)
  case setTimer(Resource.Key, number: UInt64, deadline: Duration, OperationClock)
  case cancelTimer(OperationTimer)
  /// Read the clock, because the first waiter has rates and the time of their clock isn't known.
  case readClock(AdvancedOperation, OperationClock)
  /// Pass an event to the tracer of the domain.
  case trace(ClaimEvent, Operation)
}

/// The book of a domain, which records the holders and the waiters of each resource.
///
/// A claim that has to wait is in the queue of waiters of one busy resource. When that resource is available
/// for the first waiter, the whole claim of the waiter is checked. The claim is then offered to the
/// operation, or waits for another busy resource. A release therefore causes at most one unsuccessful check
/// of each claim.
///
/// The operation holds an offered claim while its queue is asked for a slot. The queue is asked after
/// unlocking, because no lock is acquired under the lock of the domain. If there is a slot, the operation
/// starts. If not, the claim's units are offered to the next waiters, and the operation tries again when its
/// queue can start it.
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
    /// A Boolean value that indicates whether the operation waits for busy resources, independently of its
    /// requests' ``WhenBusy``.
    let alwaysWaits: Bool
    let time: Time?
  }

  /// A reading of the clock of an operation's rates, taken without the lock.
  struct Time {
    let clock: OperationClock
    let now: Duration
  }

  private var resources: [Resource.Key: Resource] = [:]
  private var claims: [ObjectIdentifier: Claim] = [:]
  /// A Boolean value that indicates whether all events are passed to the tracer.
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

  /// Returns the claim of an operation, and creates the claim if there is none.
  private func claim(for attempt: Attempt) -> Claim {
    if let claim = claim(of: attempt.operation) { return claim }
    let claim = Claim(attempt)
    for request in attempt.requests { addParts(of: request, to: claim, attempt.time) }
    for part in claim.parts { part.resource.claimCount += 1 }
    claims[ObjectIdentifier(attempt.operation)] = claim
    return claim
  }

  /// Splits a request between the groups of the operation and the domain.
  ///
  /// A child uses the units of its groups, from the innermost group on, and acquires the rest like operations
  /// outside.
  ///
  /// Groups hold their claims until their children have finished, so a claim is split only once.
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
      // Units that the outer group has lent to the inner group must not be used twice.
      let lent = inner?.group.units(of: resource) ?? 0
      let units = min(open, room.capacity - lent)
      if units > 0 { add(units, of: resource) }
      open -= units
      if inner == nil { inner = (group, room) } else { inner?.group = group }
    }
    guard let room = inner?.room else { return add(open, of: resource(for: request, time)) }
    // The strictest limit decides. A child with a stricter limit than its groups also claims the outermost
    // resource, so that its limit applies to operations outside.
    let isStricter = request.limit.map { $0 < room.limit } ?? false
    if open > 0 || isStricter { add(open, of: room.outermost) }
  }

  private func forget(_ claim: Claim) {
    claims[ObjectIdentifier(claim.operation)] = nil
    for part in claim.parts { part.resource.claimCount -= 1 }
  }

  /// Forgets all claims and resources.
  ///
  /// - Returns: The claims and their contents, to be released without the lock.
  func forgetAll() -> Any {
    let claims = exchange(&claims, with: [:]).values.map { ($0, $0.takeContents()) }
    return (claims, exchange(&resources, with: [:]))
  }

  private func resource(for request: ClaimRequest, _ time: Time?) -> Resource {
    let clock = request.isRate ? time?.clock.identity : nil
    let key = Resource.Key(subject: request.subject, clock: clock?.number)
    if let known = resources[key] { return known }
    if resources.count >= resourceLimit {
      // Resources aren't forgotten as soon as they are unclaimed, because the next operation mostly claims
      // the same. Resources of a deallocated clock are forgotten with any request, and those of another clock
      // with a request that has its time.
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
    /// The operation waits. The caller cancels the given operations first.
    case wait(cancelling: [AdvancedOperation], mayCompleteCycle: Bool)
    /// The claim isn't acquired, because the holders have the requested resource or because there will never
    /// be enough units.
    case refused(ClaimRequest, holders: [AdvancedOperation], isExcessive: Bool)
    case skipped(ClaimRequest, holders: [AdvancedOperation])
  }

  /// The answer to an attempt to take a claim.
  enum TakeAnswer {
    case decided(Decision)
    /// There is room, but this claim came earlier. The caller asks whether its queue can start it now, lets
    /// others overtake it if not, and tries again.
    case ask(Claim)
  }

  /// Lets an operation that has a slot acquire its claim.
  ///
  /// - Parameters:
  ///   - attempt: The request.
  ///   - startable: The claims that their queues could start a moment ago.
  ///   - effects: The actions to perform after unlocking, to which the method appends.
  /// - Returns: The decision, or a question to answer first.
  func takeCalled(
    _ attempt: Attempt,
    behind startable: [Claim],
    _ effects: inout [ClaimEffect]
  ) -> TakeAnswer {
    let claim = claim(for: attempt)
    // A worker may ask although the claim was offered, because a dependency was added and finished while the
    // operation waited. The operation then starts with the slot that its queue has reserved, or has to try
    // again.
    if claim.hasUnits { return .decided(.wait(cancelling: [], mayCompleteCycle: false)) }
    if let time = attempt.time { timePassed(to: time.now, for: claim) }
    let excessive = claim.parts.first { $0.resource.isExcessive($0) }
    if excessive == nil, let front = frontToAsk(claim, besides: startable) { return .ask(front) }
    let left = leaveWaiters(claim)
    let decision = decide(claim, excessive: excessive?.request, &effects)
    if let left { offerToWaiters(of: left, at: attempt.time, &effects) }
    return .decided(decision)
  }

  /// Acquires a claim, makes it wait, or refuses it.
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
      // A claim that is only offered isn't cancelled, because its queue is still being asked for a slot.
      let inTheWay = claim.parts
        .filter { $0.request.whenBusy == .cancelHolder && !$0.resource.fits($0) }
        .flatMap { $0.resource.holders.map(\.claim) }
        .filter { if case .held = $0.state { true } else { false } }
        .map(\.operation)
        .filter { !claim.isInside($0) }
      return wait(claim, for: index, cancelling: inTheWay, &effects)
    }
  }

  /// Returns a first waiter that is the only obstacle to a claim, and that its queue possibly can't start
  /// now.
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

  /// Returns the decision about an operation in the present state of the book.
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

  /// Records that the operation starts with its claim, and doesn't wait any more.
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

  /// Removes a claim from the waiters.
  ///
  /// - Returns: The resource that the claim waited for, whose next waiter may now be able to start; nil if
  ///   the claim didn't wait.
  private func leaveWaiters(_ claim: Claim) -> Resource? {
    guard let resource = claim.awaited?.resource else { return nil }
    claim.awaitsTime = false
    claim.state = .idle
    resource.waiters.leave(claim)
    return resource
  }

  /// Offers their claims to the waiters of a resource, as long as there is room for the first waiter.
  ///
  /// - Parameters:
  ///   - resource: The resource.
  ///   - time: A reading of a clock. A waiter with rates by another clock stays the first until its clock has
  ///     been read, because its start is counted.
  ///   - effects: The actions to perform after unlocking, to which the method appends.
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
      // In the meantime, another resource became busy for which the operation must not wait.
      case .cancelHolders, .skip, .fail: tellToTryAgain(claim, &effects)
      }
    }
  }

  /// Handles the answer of a queue that was asked for a slot for an offered claim.
  func offerAnswered(_ claim: Claim, isAccepted: Bool, _ effects: inout [ClaimEffect]) {
    // The operation may have finished, or started and released its claim.
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

  /// Lets later waiters overtake a waiter that its queue can't start now.
  func letOthersPass(_ claim: Claim, _ effects: inout [ClaimEffect]) {
    guard let left = leaveWaiters(claim) else { return }
    tellToTryAgain(claim, &effects)
    offerToWaiters(of: left, at: nil, &effects)
  }

  private func tellToTryAgain(_ claim: Claim, _ effects: inout [ClaimEffect]) {
    effects.append(.reoffer(claim.operation))
  }

  /// Lets an operation check whether its wait completes a cycle, if a cycle is possible.
  func noteMoved(_ claim: Claim, _ effects: inout [ClaimEffect]) {
    if mayCompleteCycle(claim) { effects.append(.moved(claim.operation)) }
  }

  /// Moves a waiter to the front, because the waiters before it wait for it in another way.
  ///
  /// A waiter moves only once, because two waiters could overtake each other forever.
  ///
  /// - Returns: True if the waiter has moved.
  func movedToFront(_ operation: AdvancedOperation, _ effects: inout [ClaimEffect]) -> Bool {
    guard let claim = claim(of: operation), case .waiting(let index) = claim.state,
      !claim.wasMoved, isBehind(operation), let resource = leaveWaiters(claim)
    else { return false }
    firstTicket -= 1
    claim.ticket = firstTicket
    claim.wasMoved = true
    joinWaiters(claim, for: index, &effects)
    // The operations that it overtook now wait for it.
    effects.append(.moved(operation))
    offerToWaiters(of: resource, at: nil, &effects)
    return true
  }

  // MARK: Releasing

  /// Releases the claim of an idle operation, and offers the resources to operations that wait.
  ///
  /// Starts that rates have counted stay counted.
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
    // All parts are released before any part is offered.
    for part in claim.parts { part.resource.release(by: claim) }
    for part in claim.parts { offerToWaiters(of: part.resource, at: nil, &effects) }
  }

  /// Returns the tokens of a start that hasn't begun to the rates.
  private func takeStartsBack(_ claim: Claim) {
    for index in claim.parts.indices {
      if let start = claim.parts[index].start.take() {
        claim.parts[index].resource.bucket?.takenBack(start)
      }
    }
  }

  /// Handles an operation that doesn't start, or doesn't start now.
  ///
  /// - Parameters:
  ///   - operation: The operation.
  ///   - time: The time of the clock of its rates.
  ///   - isOver: True if the operation won't execute. The operation then leaves the waiters and keeps its
  ///     units until its end, but its counted starts are returned.
  ///   - effects: The actions to perform after unlocking, to which the method appends.
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
      // The tokens are offered with the rest of the claim, when the operation releases the claim.
      takeStartsBack(claim)
    }
    if !isOver || !claim.hasUnits { releaseCalled(operation, &effects) }
  }

  /// Removes an operation from the waiters if it waits.
  ///
  /// - Returns: True if the operation waited. In that case it neither holds its claim nor has to try again.
  func withdrawnFromWaiters(
    _ operation: AdvancedOperation,
    _ effects: inout [ClaimEffect]
  ) -> Bool {
    guard isWaiting(operation) else { return false }
    startCancelled(operation, nil, isOver: true, &effects)
    return true
  }

  /// Checks the waiters of a pool again after its capacity was changed.
  ///
  /// An operation that needs more units than the pool now has tries again, and then fails.
  func capacityChanged(of pool: ResourcePool, _ effects: inout [ClaimEffect]) {
    let key = Resource.Key(subject: .pool(ObjectIdentifier(pool)))
    guard let resource = resources[key] else { return }
    let refused = claims.values.filter { claim in
      claim.awaited != nil
        && claim.parts.contains { $0.resource === resource && resource.isExcessive($0) }
    }
    for claim in refused.sorted(by: { $0.isBefore($1) }) { letOthersPass(claim, &effects) }
    offerToWaiters(of: resource, at: nil, &effects)
    // With fewer units, the first waiter may wait for more of the holders.
    if let first = resource.waiters.first { noteMoved(first, &effects) }
  }

  // MARK: Time

  /// Lets no operation with a rate of this key start before a time.
  func holdCalled(
    _ key: String,
    until end: Duration,
    reason: String,
    _ time: Time,
    _ effects: inout [ClaimEffect]
  ) {
    let start = ClaimRequest(.rate(key), .start([], cost: 1), whenBusy: .wait)
    let resource = resource(for: start, time)
    if resource.bucket == nil { resource.bucket = RateBucket(now: time.now) }
    resource.bucket?.timePassed(to: time.now)
    if resource.bucket?.held(until: end, reason: reason) == true { updateTimer(resource, &effects) }
  }

  /// Returns the end of the longest hold of the rates that an operation claims; nil if there is none.
  func holdEnd(of requests: [ClaimRequest], on clock: OperationClock) -> Duration? {
    requests.compactMap { request in
      let key = Resource.Key(subject: request.subject, clock: clock.identity.number)
      return request.isRate ? resources[key]?.bucket?.hold?.end : nil
    }.max()
  }

  /// Offers claims after the clock of a waiter was read; the waiter may have left in the meantime.
  func clockRead(_ time: Time, for operation: AdvancedOperation, _ effects: inout [ClaimEffect]) {
    guard let claim = claim(of: operation), let resource = claim.awaited?.resource else { return }
    claim.awaitsTime = false
    offerToWaiters(of: resource, at: time, &effects)
  }

  /// Sets the timer of a rate to the time at which the first waiter can start.
  private func updateTimer(_ resource: Resource, _ effects: inout [ClaimEffect]) {
    guard let key = resource.key, resource.isRate, let bucket = resource.bucket else { return }
    let first = resource.waiters.first
    let deadline = first?.awaited.map { bucket.allowedAt($0.request.rates, cost: $0.request.cost) }
    if deadline == resource.timer.deadline { return }
    let number = nextNumber()
    if let old = resource.timer.set(deadline, number: number) {
      effects.append(.cancelTimer(old))
    }
    guard let deadline, let clock = first?.clock else { return }
    effects.append(.setTimer(key, number: number, deadline: deadline, clock))
  }

  /// Stores a timer that was created, and returns true if the timer is still needed.
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
    // The time isn't before the deadline, because timers may be a little early.
    let time = Time(clock: time.clock, now: max(time.now, deadline))
    resource.bucket?.timePassed(to: time.now)
    offerToWaiters(of: resource, at: time, &effects)
  }
}
