/// Where a member stands, and what moves it.
extension SchedulerState {
  /// Moves a member: out of the line that belongs to its place, and into that of the new one.
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
    // One that a worker is asking about is found by that.
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

  /// Moves an operation that can start to the line that it starts from.
  mutating func place(_ member: Member) {
    if self[member, .leavesAhead] {
      move(member, to: .service)
    } else if barriersInFront(of: member) > 0 {
      move(member, to: .behindBarrier)
    } else {
      move(member, to: .ready)
    }
  }

  /// How many barriers have to run before an operation that isn't gone may start.
  func barriersInFront(of member: Member) -> Int {
    max(0, Int(Int32(bitPattern: self[member].segment &- activeSegment)))
  }

  /// The members that are behind all barriers; in no order.
  var membersOfLastSegment: [Operation] {
    let segment = activeSegment &+ UInt32(barriers.count)
    let count = barriers.last?.membersBehind ?? activeMembers
    return members.last(count) {
      self[$0].placement != .gone && self[$0].segment == segment
    }
  }

  /// Whether a barrier has not run, and a member waits for it; its segment is that of the members
  /// right behind it.
  func hasMembers(behindBarrierOf segment: UInt32) -> Bool {
    let first = Int(Int32(bitPattern: segment &- activeSegment)) - 1
    return first >= 0
      && (first..<barriers.count).contains { barriers[$0].membersBehind > 0 }
  }

  /// The barrier right in front of an operation that has one.
  mutating func withBarrier(
    of member: Member,
    _ body: (inout PendingBarrier) -> Void
  ) {
    barriers.withElement(at: barriersInFront(of: member) - 1, body)
  }

  /// The first barrier has run: what stood behind it may start.
  mutating func passBarrier() {
    let behind = barriers.isEmpty ? [] : barriers[0].line.few()
    for member in behind { move(member, to: .waiting) }
    guard let barrier = barriers.popFirst() else { trap("a barrier that isn't there returned") }
    PendingBarriers.ended()
    activeSegment &+= 1
    activeMembers = barrier.membersBehind
    for member in behind { offered(member) }
  }
}

/// The service line: what needs no slot. A worker has conditions evaluated, or starts an operation
/// that will not execute, so that it leaves.
///
/// ```
/// offered, leavesAhead ─▶ service ─ serve ─┬▶ evaluating ─ asked ─▶ holdReleased ─▶ …
///                                          └▶ started ── leftAhead ─▶ ending
/// ```
///
/// One worker serves the line at any time, even where all slots are taken, and as many more as
/// there are slots free.
extension SchedulerState {
  // MARK: Into the line

  /// The operation's readiness may have changed.
  mutating func offered(_ member: Member) {
    switch self[member].placement {
    case .waiting, .evaluating, .parked: break
    case .started:
      // A dependency was added while a worker asked, and is resolved now.
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

  /// The operation was cancelled: it leaves ahead of others.
  mutating func leavesAhead(_ member: Member) {
    // One that has executed has an end of its own.
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

  /// Moves an operation to the line, or behind the barrier that is in front of it.
  mutating func placeInService(_ member: Member) {
    move(member, to: barriersInFront(of: member) > 0 ? .behindBarrier : .service)
  }

  // MARK: Out of the line

  /// Whether a worker is to serve the line at this moment.
  var isServiceDue: Bool {
    !service.isEmpty && (servedWithoutSlot == 0 || slotsInUse + servedWithoutSlot < limit)
  }

  /// Decides what is done to the first in the line of those that need no slot; nil if nothing.
  mutating func serve(_ member: Member) -> Step? {
    if member.progress == .none, !member.use({ $0.readiness.current.isDropped }),
      !member.isCancelled
    {
      // A dependency was added while it stood in line; it will be offered again.
      move(member, to: .waiting)
      return nil
    }
    servedWithoutSlot += 1
    if self[member, .leavesAhead] || member.isCancelled { return start(member, .ahead) }
    move(member, to: .evaluating)
    return .evaluate(member.operation)
  }

  // MARK: What came of it

  /// The layer was asked, without a slot.
  mutating func asked(_ report: Report) {
    servedWithoutSlot -= 1
    answered(report)
  }

  /// A worker brings the result of what it had evaluated, if there is one already.
  mutating func answered(_ report: Report) {
    guard let member = report.member else { return }
    switch report.readiness {
    case .pending: break
    case .released(let leavesAhead): holdReleased(member, leavesAhead: leavesAhead)
    }
  }

  /// The layer releases its hold of an operation.
  mutating func holdReleased(_ member: Member, leavesAhead: Bool) {
    if leavesAhead { self[member, .leavesAhead] = true }
    if member.use({ $0.readiness.step { $0.holdReleased() } }) == .ready { offered(member) }
  }

  /// An operation was started without a slot, and the start has returned.
  mutating func leftAhead(_ member: Member, isEnd: Bool, _ effects: inout Effects) {
    servedWithoutSlot -= 1
    returned(member, isEnd: isEnd, &effects)
  }
}

/// Pauses of operations that execute: without a slot, and then a turn like that of one that starts.
///
/// ```
/// started ─ pauseBegan ─▶ paused ─ pauseEnded ─▶ ready ─▶ started (parked, granted) ─ wentOn
/// ```
///
/// All the time the operation is a member that a barrier behind it waits for. Its end takes it out
/// of wherever it is.
extension SchedulerState {
  /// An executing operation gives its slot back until it gets another turn.
  ///
  /// The worker that has started it may not have reported yet, and relies on the operation until
  /// then; its report begins the pause.
  ///
  /// - Returns: A call in its body that has released the slot before, and waits for it.
  mutating func pauseBegan(_ member: Member) -> AsyncWait? {
    if self[member].isFinished { return nil }
    beginPause(of: member)
    return forgetRelease(of: member)
  }

  /// Begins a pause of an operation that executes, or waits for its turn after another pause.
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

  /// The pause is over: the operation waits for its turn, among those that are ready by now.
  mutating func pauseEnded(_ member: Member) {
    if self[member, .pausesOnReturn] {
      self[member, .isPauseOver] = true
    } else if self[member].placement == .paused {
      place(member)
    }
  }

  /// A worker reports the return of a turn in which the operation began a pause.
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

  /// The operation ends instead of going on, and waits for no turn until then.
  mutating func turnAbandoned(_ member: Member) {
    self[member, .isPauseOver] = false
    guard self[member, .isPaused] else { return }
    switch self[member].placement {
    case .ready, .parked: move(member, to: .paused)
    // With a slot in hand, it finds out by itself.
    case .outside, .waiting, .behindBarrier, .service, .evaluating, .granted, .started, .paused,
      .ending, .gone:
      break
    }
  }

  /// What goes on in the next turn of an operation.
  enum Resumption {
    /// The next attempt, which the layer begins.
    case layer
    /// The body, which has released the slot and waits for it; nil if the body didn't wait.
    case body(AsyncWait?)
    /// Nothing: another pause has begun since, and the report of the worker begins it.
    case nothing
  }

  /// The operation goes on in its next turn.
  mutating func wentOn(_ member: Member) -> Resumption {
    self[member, .isPaused] = false
    if self[member, .pausesOnReturn] { return .nothing }
    return self[member, .hasReleasedSlot] ? .body(forgetRelease(of: member)) : .layer
  }

  /// Whether nothing that is waited for before the start keeps the operation; nothing does after
  /// it.
  func hasNothingOpen(_ member: Member) -> Bool {
    member.progress == .ready || self[member, .isPaused]
  }
}
