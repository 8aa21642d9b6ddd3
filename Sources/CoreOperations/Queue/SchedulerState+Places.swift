/// The placements of members, and the moves between them.
extension SchedulerState {
  /// Moves a member from the waiting list of its placement to the waiting list of another one.
  @inline(__always)
  mutating func move(_ member: Member, to placement: Placement) {
    leaveLine(member)
    self[member].move(to: placement)
    enterLine(member)
  }

  @inline(__always)
  mutating func enterLine(_ member: Member) {
    switch self[member].placement {
    case .behindBarrier: withBarrier(of: member) { $0.line.append(member) }
    case .service: service.append(member)
    case .ready:
      if self[member, .needsNoSlot] { slotless.insert(member) } else { ready.insert(member) }
    // An operation on the stack of a worker needs no list, because the report of that worker finds it.
    case .granted: if !self[member, .isOnStack] { granted.insert(member) }
    case .outside, .waiting, .evaluating, .parked, .started, .paused, .ending, .gone: break
    }
  }

  @inline(__always)
  mutating func leaveLine(_ member: Member) {
    switch self[member].placement {
    case .behindBarrier: withBarrier(of: member) { $0.line.remove(member) }
    case .service: service.remove(member)
    case .ready:
      if self[member, .needsNoSlot] { slotless.remove(member) } else { ready.remove(member) }
    case .granted: if !self[member, .isOnStack] { granted.remove(member) }
    case .outside, .waiting, .evaluating, .parked, .started, .paused, .ending, .gone: break
    }
  }

  /// Moves an operation that can start to the waiting list from which it starts.
  mutating func place(_ member: Member) {
    if self[member, .leavesAhead] {
      move(member, to: .service)
    } else if barriersInFront(of: member) > 0 {
      move(member, to: .behindBarrier)
    } else {
      move(member, to: .ready)
    }
  }

  /// Returns the number of barriers that have to run before an operation may start, unless it is gone.
  func barriersInFront(of member: Member) -> Int {
    max(0, Int(Int32(bitPattern: self[member].segment &- activeSegment)))
  }

  /// The members that are behind all barriers, in no particular order.
  var membersOfLastSegment: [Operation] {
    let segment = activeSegment &+ UInt32(barriers.count)
    let count = barriers.last?.membersBehind ?? activeMembers
    return members.last(count) {
      self[$0].placement != .gone && self[$0].segment == segment
    }
  }

  /// Returns whether a barrier hasn't run and has members behind it, given the segment of the members right
  /// behind it.
  func hasMembers(behindBarrierOf segment: UInt32) -> Bool {
    let first = Int(Int32(bitPattern: segment &- activeSegment)) - 1
    return first >= 0
      && (first..<barriers.count).contains { barriers[$0].membersBehind > 0 }
  }

  /// Calls `body` with the barrier right in front of an operation.
  ///
  /// The operation must have a barrier in front.
  mutating func withBarrier(
    of member: Member,
    _ body: (inout PendingBarrier) -> Void
  ) {
    barriers.withElement(at: barriersInFront(of: member) - 1, body)
  }

  /// Removes the first barrier, which has run, and lets the members behind it start.
  mutating func passBarrier() {
    let behind = barriers.isEmpty ? [] : barriers[0].line.few()
    for member in behind { move(member, to: .waiting) }
    guard let barrier = barriers.popFirst() else {
      internalError("a barrier returned that isn't in the queue")
    }
    PendingBarriers.ended()
    activeSegment &+= 1
    activeMembers = barrier.membersBehind
    for member in behind { offered(member) }
  }
}

/// The service list, which contains operations that need no slot.
///
/// A worker has the conditions of such an operation evaluated. Or it starts an operation that won't execute,
/// so that the operation leaves.
///
/// ```
/// offered, leavesAhead ─▶ service ─ serve ─┬▶ evaluating ─ asked ─▶ holdReleased ─▶ …
///                                          └▶ started ── leftAhead ─▶ ending
/// ```
///
/// A single worker serves the list at any time, even if all slots are taken. In addition, as many workers
/// serve the list as there are free slots.
extension SchedulerState {
  // MARK: Entering the list

  /// Checks the readiness of an operation, which may have changed.
  mutating func offered(_ member: Member) {
    switch self[member].placement {
    case .waiting, .evaluating, .parked: break
    case .started:
      // A dependency was added while a worker evaluated whether the operation may start. The dependency has
      // finished now.
      self[member, .isNudged] = true
      return
    case .outside, .behindBarrier, .service, .ready, .granted, .paused, .ending, .gone: return
    }
    switch member.progress {
    case .none: return
    case .onlyHeld:
      if self[member].placement == .evaluating { return }
      placeInService(member)
    case .ready: place(member)
    }
  }

  /// Lets an operation leave ahead of others, because it was cancelled.
  mutating func leavesAhead(_ member: Member) {
    // A paused operation has begun its body, and ends by itself.
    if self[member, .isPaused] { return }
    switch self[member].placement {
    case .outside, .granted, .paused, .ending, .gone: return
    case .started: self[member, .isNudged] = true
    case .service: self[member, .leavesAhead] = true
    case .waiting, .behindBarrier, .evaluating, .ready, .parked:
      self[member, .leavesAhead] = true
      move(member, to: .service)
    }
  }

  /// Moves an operation to the service list, or behind the barrier that is in front of it.
  mutating func placeInService(_ member: Member) {
    move(member, to: barriersInFront(of: member) > 0 ? .behindBarrier : .service)
  }

  // MARK: Leaving the list

  /// Whether a worker has to serve the list at this moment.
  var isServiceDue: Bool {
    !service.isEmpty && (servedWithoutSlot == 0 || slotsInUse + servedWithoutSlot < limit)
  }

  /// Returns the next step for the first operation in the service list; nil if there is nothing to do for it.
  mutating func serve(_ member: Member) -> Step? {
    if member.progress == .none, !member.use({ $0.readiness.current.isDropped }),
      !member.isCancelled
    {
      // A dependency was added while the operation was in the list. The operation will be offered again.
      move(member, to: .waiting)
      return nil
    }
    servedWithoutSlot += 1
    if self[member, .leavesAhead] || member.isCancelled { return start(member, .ahead) }
    move(member, to: .evaluating)
    return .evaluate(member.operation)
  }

  // MARK: Results

  /// Handles the report that the layer was called without a slot.
  mutating func asked(_ report: Report) {
    servedWithoutSlot -= 1
    answered(report)
  }

  /// Handles the result of an evaluation, if the worker already has it.
  mutating func answered(_ report: Report) {
    guard let member = report.member else { return }
    switch report.readiness {
    case .pending: break
    case .released(let leavesAhead): holdReleased(member, leavesAhead: leavesAhead)
    }
  }

  /// Handles the release of an operation by its layer, which held it back.
  mutating func holdReleased(_ member: Member, leavesAhead: Bool) {
    if leavesAhead { self[member, .leavesAhead] = true }
    if member.use({ $0.readiness.step { $0.holdReleased() } }) == .ready { offered(member) }
  }

  /// Handles the return of a start without a slot.
  mutating func leftAhead(_ member: Member, isEnd: Bool, _ effects: inout Effects) {
    servedWithoutSlot -= 1
    returned(member, isEnd: isEnd, &effects)
  }
}

/// Pauses of executing operations. A paused operation has no slot, and then resumes like an operation that
/// starts.
///
/// ```
/// started ─ pauseBegan ─▶ paused ─ pauseEnded ─▶ ready ─▶ started (parked, granted) ─ wentOn
/// ```
///
/// During the pause, the operation is a member for which a barrier behind it waits. The end of the operation
/// removes it from any placement.
extension SchedulerState {
  /// Begins a pause, in which an executing operation releases its slot until it resumes.
  ///
  /// The worker that started the operation may not have reported yet, and relies on the operation until then.
  /// In this case, the report of the worker begins the pause.
  ///
  /// - Returns: A call in the body that released the slot before, and waits for it.
  mutating func pauseBegan(_ member: Member) -> AsyncWait? {
    if self[member].isFinished { return nil }
    beginPause(of: member)
    return forgetRelease(of: member)
  }

  /// Begins a pause of an operation that executes, or that waits to resume after another pause.
  mutating func beginPause(of member: Member) {
    switch self[member].placement {
    case .started where self[member, .isOnStack]:
      self[member, .pausesOnReturn] = true
      self[member, .isPauseOver] = false
    case .started: pause(member)
    case .ready, .parked: turnAbandoned(member)
    case .outside, .waiting, .behindBarrier, .service, .evaluating, .granted, .paused, .ending,
      .gone:
      break
    }
  }

  /// Ends a pause.
  ///
  /// The operation waits to resume, among the operations that are ready by now.
  mutating func pauseEnded(_ member: Member) {
    if self[member, .pausesOnReturn] {
      self[member, .isPauseOver] = true
    } else if self[member].placement == .paused {
      place(member)
    }
  }

  /// Handles the report of a worker that returned from an operation, which has begun a pause.
  mutating func pauseDue(_ member: Member, _ effects: inout Effects) {
    self[member, .pausesOnReturn] = false
    let isOver = self[member, .isPauseOver]
    self[member, .isPauseOver] = false
    if self[member].isFinished { return }
    pause(member)
    guard isOver else { return }
    pauseEnded(member)
    effects.pause = .waitsForNextTurn(member.operation)
  }

  private mutating func pause(_ member: Member) {
    giveBackSlot(of: member)
    self[member, .isPaused] = true
    move(member, to: .paused)
  }

  /// Lets an operation end instead of resuming, so that it no longer waits to resume.
  mutating func turnAbandoned(_ member: Member) {
    self[member, .isPauseOver] = false
    guard self[member, .isPaused] else { return }
    switch self[member].placement {
    case .ready, .parked: move(member, to: .paused)
    // An operation that has a slot finds out by itself.
    case .outside, .waiting, .behindBarrier, .service, .evaluating, .granted, .started, .paused,
      .ending, .gone:
      break
    }
  }

  /// The part of an operation that resumes when it has its slot again.
  enum Resumption {
    /// The layer begins the next attempt.
    case layer
    /// The body resumes, which has released the slot and waits for it. The wait is nil if the body didn't
    /// wait.
    case body(AsyncWait?)
    /// The operation doesn't resume, because another pause has begun in the meantime. The report of the
    /// worker begins that pause.
    case nothing
  }

  /// Resumes a paused operation, which has its slot again.
  mutating func wentOn(_ member: Member) -> Resumption {
    self[member, .isPaused] = false
    if self[member, .pausesOnReturn] { return .nothing }
    return self[member, .hasReleasedSlot] ? .body(forgetRelease(of: member)) : .layer
  }

  /// Returns whether no wait before the start keeps the operation.
  ///
  /// After the start, no such wait exists.
  func hasNothingOpen(_ member: Member) -> Bool {
    member.progress == .ready || self[member, .isPaused]
  }
}
