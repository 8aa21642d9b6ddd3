/// What a queue knows: who is a member, who could start, how many slots are taken.
///
/// A plain value behind the lock of ``Scheduler``. Each event is one mutating method; what has to
/// happen outside of the lock comes back as ``Effects``.
package struct SchedulerState {
  struct PendingBarrier {
    /// Taken when it runs, so that it is released by its worker and not under the lock.
    var block: Barrier?
    /// Members that were added after it and before the next one.
    var membersBehind = 0
    /// Those of them that could start if it weren't there.
    var line = MemberLine()
  }

  package internal(set) var members = QueueMembers()
  /// There are some only while there are no members.
  package internal(set) var closures = QueueClosures()
  /// Since the queue was last idle; since a total was set that is to be reached, if one was.
  var addedCount: Int64 = 0
  var leftCount: Int64 = 0
  private var countsOn = false
  var isSuspended = false
  /// The limit as it was set; negative for none.
  var requestedLimit = -1
  package var slotsInUse = 0
  var ready = ReadyLine()
  /// Those that could start and need no slot.
  var helping = ReadyLine()
  var service = MemberLine()
  var granted = ReadyLine()
  var servedWithoutSlot = 0
  var barriers = FirstInFirstOut<PendingBarrier>()
  var activeSegment: UInt32 = 0
  var activeMembers = 0
  package var isBarrierRunning = false
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
  package var keepsClosures = false
  /// Looks at new members before anything happens to them; stays set.
  var gate: (any ArrivalGate)?

  package init(source: WorkerSource) { self.source = source }

  /// Whether a new member may complete a cycle that a wait for it can't have found before it came.
  ///
  /// So it is after a new limit: who looks because of that sees only what is a member by then.
  var isWatched: Bool { isAwaited || hasNewLimit || !barriers.isEmpty }

  package var isIdle: Bool { members.count == 0 && closures.isEmpty && barriers.isEmpty }
  package var limit: Int { requestedLimit < 0 ? .max : requestedLimit }

  // MARK: Events of members

  /// Takes in an operation; nothing happens to it before ``letIn(_:)``.
  ///
  /// - Parameters:
  ///   - member: The new member.
  ///   - other: What needs the new member for its conditions: that is behind the same barriers as
  ///     this one, instead of behind all, and needs no slot.
  ///   - owner: The queue.
  package mutating func memberAdded(
    _ member: Member,
    besides other: Member? = nil,
    owner: OperationQueue
  ) {
    // An override reported the end while the operation was on its way here.
    if member.fields.isFinished {
      member.use { operation in operation.withLinks { $0.leave() } }
      return
    }
    if isIdle { begin(owner) }
    closuresBecomeOperations()
    addedCount += 1
    members.append(member)
    member.fields.needsNoSlot = other != nil
    // A member that has left meanwhile may have let the barrier run that was behind it.
    let inFront =
      other.map { max(barriersInFront(of: $0), isBarrierRunning ? 1 : 0) } ?? barriers.count
    member.fields.segment = activeSegment &+ UInt32(inFront)
    if inFront == 0 {
      activeMembers += 1
    } else {
      withBarrier(of: member) { $0.membersBehind += 1 }
    }
  }

  /// Lets a member in, so that it can become ready.
  package mutating func letIn(_ member: Member) {
    guard member.fields.isMember, member.placement == .outside else { return }
    move(member, to: .waiting)
    if member.isCancelled { member.use { $0.readiness.step { $0.dropped() } } }
    if member.use({ $0.readiness.current.isDropped }) { leavesAhead(member) }
    if member.use({ $0.readiness.step { $0.letIn() } }) != .none { offered(member) }
  }

  /// What kept the operation parked may be gone.
  package mutating func reoffered(_ member: Member) {
    switch member.placement {
    case .parked: place(member)
    case .started: member.fields.isNudged = true
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
  package mutating func reserved(_ member: Member) -> Bool {
    guard !isBlocked, hasNothingOpen(member) else { return false }
    switch member.placement {
    case .parked where member.fields.needsNoSlot: if limit == 0 { return false }
    case .parked:
      guard slotsInUse < limit else { return false }
      // The last free slot is that of a ready operation that comes first.
      if slotsInUse + 1 == limit, let first = ready.first, first.startsBefore(member) {
        return false
      }
      slotsInUse += 1
      member.fields.holdsSlot = true
    case .started:
      guard member.fields.isOnStack,
        member.fields.needsNoSlot || member.fields.holdsSlot && slotsInUse <= limit
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
    if member.placement == .started { return true }
    return member.placement == .parked && !isBlocked && !isFull(for: member)
      && hasNothingOpen(member)
  }

  package mutating func priorityChanged(_ member: Member, level: Int) {
    // Only these lines have levels.
    guard member.placement == .ready || member.placement == .granted else {
      member.fields.level = UInt8(level)
      return
    }
    leaveLine(member)
    member.fields.level = UInt8(level)
    enterLine(member)
  }

  /// The operation's end was reported; once.
  ///
  /// - Parameters:
  ///   - member: The operation.
  ///   - hasCompletion: Whether it stays a member until its completion block returned.
  ///   - effects: Gets what to do.
  package mutating func finished(_ member: Member, hasCompletion: Bool, _ effects: inout Effects) {
    member.fields.hasCompletion = hasCompletion
    move(member, to: .ending)
    settled(member, &effects)
  }

  /// The completion block of the operation returned.
  package mutating func completionReturned(_ member: Member, _ effects: inout Effects) {
    member.fields.hasCompletion = false
    settled(member, &effects)
  }

  /// The layer keeps slot and membership beyond the end, or lets go of them.
  package mutating func idleHold(_ member: Member, isHeld: Bool, _ effects: inout Effects) {
    member.fields.isHeldUntilIdle = isHeld
    settled(member, &effects)
  }

  /// Gives back what a finished operation has, as far as nothing holds it.
  mutating func settled(_ member: Member, _ effects: inout Effects) {
    let isOnStack = member.fields.isOnStack
    guard member.fields.isFinished, member.fields.isMember, !member.fields.isHeldUntilIdle,
      !isOnStack || !member.isLayered
    else { return }
    if member.placement == .ending {
      move(member, to: .gone)
      giveBackSlot(of: member)
      if member.fields.segment == activeSegment {
        activeMembers -= 1
      } else {
        withBarrier(of: member) { $0.membersBehind -= 1 }
      }
    }
    if member.fields.hasCompletion { return }
    if member.isLayered { member.use { operation in operation.withLinks { $0.leave() } } }
    members.remove(member)
    if isOnStack {
      member.fields.isReleasedByReport = true
    } else {
      effects.garbage = member.released()
    }
    effects.haveMembersLeft = true
    leftCount += 1
    noteIdle(&effects)
  }

  /// Whether the limit keeps an operation from being started.
  func isFull(for member: Member) -> Bool {
    member.fields.needsNoSlot ? limit == 0 : slotsInUse >= limit
  }

  mutating func giveBackSlot(of member: Member) {
    guard member.fields.holdsSlot else { return }
    member.fields.holdsSlot = false
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

  package mutating func suspended(_ isSuspended: Bool) { self.isSuspended = isSuspended }

  package mutating func limited(_ limit: Int) {
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
  package mutating func barrierAdded(
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
