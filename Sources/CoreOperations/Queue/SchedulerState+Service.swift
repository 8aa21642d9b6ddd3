/// The service line: what needs no slot. A worker has a condition evaluated or an operation
/// reviewed, or starts an operation that will not execute, so that it leaves.
///
/// ```
/// offered, leavesAhead ─▶ service ─ serve ─┬▶ evaluating ─ asked ─▶ holdReleased, reviewed ─▶ …
///                                          └▶ starting ─ leftAhead ─▶ ending
/// ```
///
/// One worker serves the line at any time, even where all slots are taken, and as many more as
/// there are slots free.
extension SchedulerState {
  // MARK: Into the line

  /// The operation's readiness may have changed.
  ///
  /// - Parameters:
  ///   - member: The operation.
  ///   - isFresh: Whether the layer has released its hold at this moment.
  package mutating func offered(_ member: Member, isFresh: Bool = false) {
    switch member.placement {
    case .waiting: break
    case .evaluating, .parked:
      // A dependency was added after the layer was asked, and has ended.
      if !isFresh, member.progress == .ready { member.fields.hasWaited = true }
    case .starting:
      // A dependency was added while a worker asked, and is resolved now.
      member.fields.isNudged = true
      return
    case .outside, .behindBarrier, .service, .ready, .granted, .paused, .ending, .gone: return
    }
    switch member.progress {
    case .none: return
    case .onlyHeld:
      if member.placement == .evaluating { return }
      placeInService(member)
    case .ready: place(member)
    }
  }

  /// The operation was cancelled: it leaves ahead of others.
  package mutating func leavesAhead(_ member: Member) {
    // One that has executed has an end of its own.
    if member.fields.isPaused { return }
    switch member.placement {
    case .outside, .granted, .paused, .ending, .gone: return
    case .starting: member.fields.isNudged = true
    case .service: member.fields.leavesAhead = true
    case .waiting, .behindBarrier, .evaluating, .ready, .parked:
      member.fields.leavesAhead = true
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
    if member.fields.leavesAhead || member.isCancelled { return start(member, .ahead) }
    move(member, to: .evaluating)
    if member.fields.needsReview {
      member.fields.needsReview = false
      member.fields.hasWaited = false
      return .review(member.operation)
    }
    return .evaluate(member.operation)
  }

  // MARK: What came of it

  /// The layer was asked, without a slot.
  mutating func asked(_ report: Report) {
    servedWithoutSlot -= 1
    answered(report)
  }

  /// A worker comes with the answer to what it asked, if there is one already.
  mutating func answered(_ report: Report) {
    if let answer = report.answer, let member = report.member { holdReleased(member, answer) }
  }

  /// The layer releases its hold of an operation.
  package mutating func holdReleased(_ member: Member, _ answer: LayerAnswer) {
    if answer.leavesAhead { member.fields.leavesAhead = true }
    if isOutdated(answer) { member.fields.hasWaited = true }
    if member.use({ $0.readiness.step { $0.holdReleased() } }) == .ready {
      offered(member, isFresh: true)
    }
  }

  /// The layer has reviewed an operation, which is back in the line, at its old turn.
  package mutating func reviewed(_ member: Member, leavesAhead: Bool) {
    if leavesAhead { member.fields.leavesAhead = true }
    offered(member, isFresh: true)
  }

  /// An operation was started without a slot, and the start has returned.
  mutating func leftAhead(_ member: Member, isEnd: Bool, _ effects: inout Effects) {
    servedWithoutSlot -= 1
    returned(member, isEnd: isEnd, &effects)
  }

  /// An operation whose turn came is to leave instead: its slot goes to others.
  mutating func leavesAheadInstead(_ member: Member, _ effects: inout Effects) {
    guard keepsPlace(member, &effects) else { return }
    member.fields.leavesAhead = true
    move(member, to: .service)
  }
}
