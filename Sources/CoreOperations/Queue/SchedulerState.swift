/// The state of a queue, such as its members, the operations that can start, and the number of slots in use.
///
/// The state is a value under the lock of ``Scheduler``. Each event is one mutating method. Actions outside
/// of the lock are returned as ``Effects``.
struct SchedulerState {
  struct PendingBarrier {
    /// The block is taken out when it runs, so that its worker releases it, not code under the lock.
    var block: Barrier?
    /// The number of members that were added after this barrier and before the next one.
    var membersBehind = 0
    /// The members behind this barrier that could start without it.
    var line = MemberLine()
  }

  var members = QueueMembers()
  /// The closures that aren't operations, which exist only while there are no members.
  var closures = QueueClosures()
  /// The number of added operations since the queue was last idle.
  ///
  /// If a total was set, the count continues while the queue is idle.
  var addedCount: Int64 = 0
  var leftCount: Int64 = 0
  private var countsOn = false
  var isSuspended = false
  /// The limit that was set; negative if there is no limit.
  var requestedLimit = -1
  var slotsInUse = 0
  var ready = ReadyLine()
  /// The operations that can start and need no slot.
  var slotless = ReadyLine()
  var service = MemberLine()
  var granted = ReadyLine()
  var servedWithoutSlot = 0
  var barriers = FirstInFirstOut<PendingBarrier>()
  var activeSegment: UInt32 = 0
  var activeMembers = 0
  var isBarrierRunning = false
  /// The number of workers that will report here before they run code of the program again.
  var loopingWorkers = 0
  /// Whether one of the looping workers is spinning, and hasn't been notified of work.
  var isLingering = false
  var isWorkerRequested = false
  /// The source of workers.
  ///
  /// A worker of an earlier source leaves.
  var source: WorkerSource
  var blockedStarts = 0
  /// The queue, which this reference keeps alive while it has members, closures or barriers.
  var owner: OperationQueue?
  var waiters: WaitList<Void>?
  /// Whether the code of an operation has ever waited for all members.
  var isAwaited = false
  /// Whether the limit was lowered, or raised from 0, since the queue was last idle.
  private var hasNewLimit = false
  /// Whether closures may be stored without operations, because no class of the program overrides how they
  /// are added.
  var keepsClosures = false
  /// The slots that bodies have released while they await, by operation.
  var releases: [ObjectIdentifier: SlotRelease] = [:]
  /// The gate that receives new members before any other step.
  ///
  /// Once set, it stays set.
  var gate: (any ArrivalGate)?

  init(source: WorkerSource) { self.source = source }

  /// Whether a new member may complete a cycle that a wait for it can't have found before the member was
  /// added.
  ///
  /// This is also the case after a new limit, because the search that a new limit begins sees only the
  /// members at that time.
  var isWatched: Bool { isAwaited || hasNewLimit || !barriers.isEmpty }

  var isIdle: Bool { members.count == 0 && closures.isEmpty && barriers.isEmpty }
  var limit: Int { requestedLimit < 0 ? .max : requestedLimit }

  // MARK: Events of members

  /// Adds an operation.
  ///
  /// Nothing happens to the operation before ``letIn(_:)``.
  ///
  /// - Parameters:
  ///   - member: The new member.
  ///   - other: The member that needs the new member for its conditions. In this case, the new member is
  ///     behind the same barriers as `other`, instead of behind all barriers, and needs no slot.
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
    // If `other` has left in the meantime, the barrier behind it may be running.
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

  /// Places a parked operation in its waiting list again, because the cause of its parking may have ended.
  mutating func reoffered(_ member: Member) {
    switch self[member].placement {
    case .parked: place(member)
    case .started: self[member, .isNudged] = true
    case .outside, .waiting, .behindBarrier, .service, .evaluating, .ready, .granted, .paused,
      .ending, .gone:
      break
    }
  }

  /// Gives a parked operation a slot, if a slot is available for it at this moment.
  ///
  /// If a worker is evaluating whether the operation may start, the operation keeps the slot that the worker
  /// has for it.
  ///
  /// Without this rule, an operation that was refused a moment ago would be overtaken by other operations
  /// before it is parked. A ready operation that comes first gets the slot, even if no worker has taken it
  /// yet.
  mutating func reserved(_ member: Member) -> Bool {
    guard !isBlocked, hasNothingOpen(member) else { return false }
    switch self[member].placement {
    case .parked where self[member, .needsNoSlot]: if limit == 0 { return false }
    case .parked:
      guard slotsInUse < limit else { return false }
      // A ready operation that comes first gets the last free slot.
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

  /// Whether a parked operation could be started now, or a worker is evaluating whether it may start.
  func mayStart(_ member: Member) -> Bool {
    if self[member].placement == .started { return true }
    return self[member].placement == .parked && !isBlocked && !isFull(for: member)
      && hasNothingOpen(member)
  }

  /// Changes the priority of an operation to its current value, which is read here.
  ///
  /// If several threads set the priority at the same time, the value that remains takes effect.
  mutating func priorityChanged(_ member: Member) {
    let level = member.use { $0.priorityLevel }
    // Only these waiting lists have levels.
    guard self[member].placement == .ready || self[member].placement == .granted else {
      self[member].level = level
      return
    }
    leaveLine(member)
    self[member].level = level
    enterLine(member)
  }

  /// Handles the end of an operation, which is reported once.
  ///
  /// - Parameters:
  ///   - member: The operation.
  ///   - hasCompletion: Whether the operation stays a member until its completion block has returned.
  ///   - isHeldUntilIdle: Whether its layer keeps slot and membership.
  ///   - effects: The effects, to which the method adds.
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

  /// Ends the release of a slot, because the operation has ended.
  ///
  /// If its body waits for the slot, the body continues without one.
  mutating func endRelease(of member: Member, _ effects: inout Effects) {
    guard self[member, .hasReleasedSlot] else { return }
    effects.pause = forgetRelease(of: member).map { .isOver($0) }
  }

  /// Notes that the completion block of an operation has returned.
  mutating func completionReturned(_ member: Member, _ effects: inout Effects) {
    self[member, .hasCompletion] = false
    settled(member, &effects)
  }

  /// Notes that the layer keeps the slot and the membership of an operation after its end, or that it has
  /// released them.
  mutating func idleHold(_ member: Member, isHeld: Bool, _ effects: inout Effects) {
    self[member, .isHeldUntilIdle] = isHeld
    settled(member, &effects)
  }

  /// Releases the slot and the membership of a finished operation, unless something keeps them.
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

  /// Begins to keep the queue alive, because it was empty and has something to do from now on.
  mutating func begin(_ owner: OperationQueue) {
    self.owner = owner
    if !countsOn { (addedCount, leftCount) = (0, 0) }
  }

  /// Notes that a total was set for the progress, or that it was reset.
  ///
  /// If the queue is idle, it counts from 0 again.
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

  /// Begins or ends a sweep over all members, during which nothing is started.
  mutating func sweep(isBeginning: Bool) {
    blockedStarts += isBeginning ? 1 : -1
  }

  /// Adds a barrier.
  ///
  /// - Returns: The members in front of the barrier that no earlier barrier waits for, and the segment of the
  ///   members that will be added behind it.
  mutating func barrierAdded(
    _ block: @escaping @Sendable () -> Void,
    owner: OperationQueue
  ) -> (before: [Operation], segment: UInt32) {
    closuresBecomeOperations()
    let before = membersOfLastSegment
    if isIdle { begin(owner) }
    barriers.append(PendingBarrier(block: Barrier(block)))
    PendingBarriers.began()
    return (before, activeSegment &+ UInt32(barriers.count))
  }

  /// Registers a waiter for the queue to become empty.
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
