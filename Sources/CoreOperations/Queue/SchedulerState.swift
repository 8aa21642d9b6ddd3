/// What a queue knows: who is a member, who could start, how many slots are taken.
///
/// A plain value behind the lock of ``Scheduler``. Each event is one mutating method; what has to
/// happen outside of the lock comes back as ``Effects``.
struct SchedulerState {
  struct PendingBarrier {
    /// Taken when it runs, so that it is released by its worker and not under the lock.
    var block: Barrier?
    /// Members that were added after it and before the next one.
    var membersBehind = 0
    /// Those of them that could start if it weren't there.
    var line = MemberLine()
  }

  var members = QueueMembers()
  /// There are some only while there are no members.
  var closures = QueueClosures()
  /// Since the queue was last idle; since a total was set that is to be reached, if one was.
  var addedCount: Int64 = 0
  var leftCount: Int64 = 0
  private var countsOn = false
  var isSuspended = false
  /// The limit as it was set; negative for none.
  var requestedLimit = -1
  var slotsInUse = 0
  var ready = ReadyLine()
  /// Those that could start and need no slot.
  var slotless = ReadyLine()
  var service = MemberLine()
  var granted = ReadyLine()
  var servedWithoutSlot = 0
  var barriers = FirstInFirstOut<PendingBarrier>()
  var activeSegment: UInt32 = 0
  var activeMembers = 0
  var isBarrierRunning = false
  /// Workers that will look here again without running anybody's code before.
  var loopingWorkers = 0
  /// Whether one of those is only looking out for work, and has not been told of any.
  var isLingering = false
  var isWorkerRequested = false
  /// Where workers come from; those of an earlier one leave.
  var source: WorkerSource
  var blockedStarts = 0
  /// The queue, kept alive while it has something to do.
  var owner: OperationQueue?
  var waiters: WaitList<Void>?
  /// Whether the code of an operation has waited for all members; stays set.
  var isAwaited = false
  /// Whether the limit was lowered, or raised from 0, since the queue was last idle.
  private var hasNewLimit = false
  /// Whether closures may be taken in as they are: whether no class of the program overrides how
  /// they are added.
  var keepsClosures = false
  /// The slots that bodies have released while they await, by operation.
  var releases: [ObjectIdentifier: SlotRelease] = [:]
  /// Looks at new members before anything happens to them; stays set.
  var gate: (any ArrivalGate)?

  init(source: WorkerSource) { self.source = source }

  /// Whether a new member may complete a cycle that a wait for it can't have found before it came.
  ///
  /// So it is after a new limit: who looks because of that sees only what is a member by then.
  var isWatched: Bool { isAwaited || hasNewLimit || !barriers.isEmpty }

  var isIdle: Bool { members.count == 0 && closures.isEmpty && barriers.isEmpty }
  var limit: Int { requestedLimit < 0 ? .max : requestedLimit }

  // MARK: Events of members

  /// Takes in an operation; nothing happens to it before ``letIn(_:)``.
  ///
  /// - Parameters:
  ///   - member: The new member.
  ///   - other: What needs the new member for its conditions: that is behind the same barriers as
  ///     this one, instead of behind all, and needs no slot.
  ///   - owner: The queue.
  mutating func memberAdded(
    _ member: Member,
    besides other: Member? = nil,
    owner: OperationQueue
  ) {
    // An override reported the end while the operation was on its way here.
    if self[member].isFinished {
      member.use { operation in operation.withLinks { $0.leave() } }
      return
    }
    if isIdle { begin(owner) }
    closuresBecomeOperations()
    addedCount += 1
    members.append(member)
    self[member].level = member.use { $0.priorityLevel }
    self[member, .needsNoSlot] = other != nil
    // A member that has left meanwhile may have let the barrier run that was behind it.
    let inFront =
      other.map { max(barriersInFront(of: $0), isBarrierRunning ? 1 : 0) } ?? barriers.count
    self[member].segment = activeSegment &+ UInt32(inFront)
    if inFront == 0 {
      activeMembers += 1
    } else {
      withBarrier(of: member) { $0.membersBehind += 1 }
    }
  }

  /// Lets a member in, so that it can become ready.
  mutating func letIn(_ member: Member) {
    guard self[member, .isMember], self[member].placement == .outside else { return }
    move(member, to: .waiting)
    if member.isCancelled { member.use { $0.readiness.step { $0.dropped() } } }
    if member.use({ $0.readiness.current.isDropped }) { leavesAhead(member) }
    if member.use({ $0.readiness.step { $0.letIn() } }) != .none { offered(member) }
  }

  /// What kept the operation parked may be gone.
  mutating func reoffered(_ member: Member) {
    switch self[member].placement {
    case .parked: place(member)
    case .started: self[member, .isNudged] = true
    case .outside, .waiting, .behindBarrier, .service, .evaluating, .ready, .granted, .paused,
      .ending, .gone:
      break
    }
  }

  /// Gives a parked operation a slot, if there is one for it at this moment; one that a worker is
  /// just asking about keeps the slot that it asks with.
  ///
  /// Otherwise an operation that was refused a moment ago would be passed by others that come
  /// before it is parked. An operation that is ready and comes first gets the slot, though no
  /// worker has taken it yet.
  mutating func reserved(_ member: Member) -> Bool {
    guard !isBlocked, hasNothingOpen(member) else { return false }
    switch self[member].placement {
    case .parked where self[member, .needsNoSlot]: if limit == 0 { return false }
    case .parked:
      guard slotsInUse < limit else { return false }
      // The last free slot is that of a ready operation that comes first.
      if slotsInUse + 1 == limit, let first = ready.first, first.startsBefore(member) {
        return false
      }
      slotsInUse += 1
      self[member, .holdsSlot] = true
    case .started:
      guard self[member, .isOnStack],
        self[member, .needsNoSlot] || self[member, .holdsSlot] && slotsInUse <= limit
      else { return false }
    case .outside, .waiting, .behindBarrier, .service, .evaluating, .ready, .granted, .paused,
      .ending, .gone:
      return false
    }
    move(member, to: .granted)
    return true
  }

  /// Whether a parked operation could be started now, or a worker just asks whether it may.
  func mayStart(_ member: Member) -> Bool {
    if self[member].placement == .started { return true }
    return self[member].placement == .parked && !isBlocked && !isFull(for: member)
      && hasNothingOpen(member)
  }

  /// The operation has another priority, which is read here: of several that are set at the same
  /// time, the one that stays is in force.
  mutating func priorityChanged(_ member: Member) {
    let level = member.use { $0.priorityLevel }
    // Only these lines have levels.
    guard self[member].placement == .ready || self[member].placement == .granted else {
      self[member].level = level
      return
    }
    leaveLine(member)
    self[member].level = level
    enterLine(member)
  }

  /// The operation's end was reported; once.
  ///
  /// - Parameters:
  ///   - member: The operation.
  ///   - hasCompletion: Whether it stays a member until its completion block returned.
  ///   - isHeldUntilIdle: Whether its layer keeps slot and membership.
  ///   - effects: Gets what to do.
  mutating func finished(
    _ member: Member,
    hasCompletion: Bool,
    isHeldUntilIdle: Bool = false,
    _ effects: inout Effects
  ) {
    if isHeldUntilIdle { self[member, .isHeldUntilIdle] = true }
    self[member, .hasCompletion] = hasCompletion
    move(member, to: .ending)
    endRelease(of: member, &effects)
    settled(member, &effects)
  }

  /// The operation has ended: if its body waits for its slot, the body continues without one.
  mutating func endRelease(of member: Member, _ effects: inout Effects) {
    guard self[member, .hasReleasedSlot] else { return }
    effects.pause = forgetRelease(of: member).map { .isOver($0) }
  }

  /// The completion block of the operation returned.
  mutating func completionReturned(_ member: Member, _ effects: inout Effects) {
    self[member, .hasCompletion] = false
    settled(member, &effects)
  }

  /// The layer keeps slot and membership beyond the end, or lets go of them.
  mutating func idleHold(_ member: Member, isHeld: Bool, _ effects: inout Effects) {
    self[member, .isHeldUntilIdle] = isHeld
    settled(member, &effects)
  }

  /// Gives back what a finished operation has, as far as nothing holds it.
  mutating func settled(_ member: Member, _ effects: inout Effects) {
    let isOnStack = self[member, .isOnStack]
    guard self[member].isFinished, self[member, .isMember], !self[member, .isHeldUntilIdle],
      !isOnStack || !member.isLayered
    else { return }
    if self[member].placement == .ending {
      move(member, to: .gone)
      giveBackSlot(of: member)
      if self[member].segment == activeSegment {
        activeMembers -= 1
      } else {
        withBarrier(of: member) { $0.membersBehind -= 1 }
      }
    }
    if self[member, .hasCompletion] { return }
    if member.isLayered { member.use { operation in operation.withLinks { $0.leave() } } }
    members.remove(member)
    if isOnStack {
      self[member, .isReleasedByReport] = true
    } else {
      effects.garbage = member.released()
    }
    effects.haveMembersLeft = true
    leftCount += 1
    noteIdle(&effects)
  }

  /// Whether the limit keeps an operation from being started.
  func isFull(for member: Member) -> Bool {
    self[member, .needsNoSlot] ? limit == 0 : slotsInUse >= limit
  }

  mutating func giveBackSlot(of member: Member) {
    guard self[member, .holdsSlot] else { return }
    self[member, .holdsSlot] = false
    slotsInUse -= 1
  }

  /// The queue was empty and has something to do from now on.
  mutating func begin(_ owner: OperationQueue) {
    self.owner = owner
    if !countsOn { (addedCount, leftCount) = (0, 0) }
  }

  /// A total was set that is to be reached, or none is any more: an idle queue begins to count
  /// anew.
  mutating func totalChanged(countsOn: Bool) {
    self.countsOn = countsOn
    if isIdle { (addedCount, leftCount) = (0, 0) }
  }

  mutating func noteIdle(_ effects: inout Effects) {
    guard isIdle else { return }
    hasNewLimit = false
    effects.idle = Idle(owner: owner, waiters: waiters)
    owner = nil
    waiters = nil
  }

  // MARK: Events of the queue

  /// Whether a suspension or a sweep keeps anything from being started.
  var isBlocked: Bool { isSuspended || blockedStarts > 0 }

  mutating func suspended(_ isSuspended: Bool) { self.isSuspended = isSuspended }

  mutating func limited(_ limit: Int) {
    let old = self.limit
    requestedLimit = limit
    if !isIdle, old == 0 || self.limit < old { hasNewLimit = true }
  }

  /// Nothing is started between the two ends of a sweep over all members.
  mutating func sweep(isBeginning: Bool) {
    blockedStarts += isBeginning ? 1 : -1
  }

  /// Takes in a barrier.
  ///
  /// - Returns: The members in front of it that no earlier barrier waits for, and the segment of
  ///   those that will come behind it.
  mutating func barrierAdded(
    _ block: @escaping @Sendable () -> Void,
    owner: OperationQueue
  ) -> (before: [Operation], segment: UInt32) {
    closuresBecomeOperations()
    let before = membersOfLastSegment
    if isIdle { begin(owner) }
    barriers.append(PendingBarrier(block: Barrier(block)))
    return (before, activeSegment &+ UInt32(barriers.count))
  }

  /// Registers someone who waits for the queue to be empty.
  ///
  /// - Returns: Whether there is something to wait for.
  mutating func waited(_ waiter: WaitList<Void>.Waiter) -> Bool {
    if isIdle { return false }
    waiters = waiters ?? WaitList()
    waiters?.append(waiter)
    return true
  }

  mutating func waitCancelled() { waiters?.waitCancelled() }
}
