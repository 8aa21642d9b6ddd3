/// The service line: what needs no slot. A worker has conditions evaluated, or starts an operation
/// that will not execute, so that it leaves.
///
/// ```
/// offered, leavesAhead ─▶ service ─ serve ─┬▶ evaluating ─ asked ─▶ holdReleased ─▶ …
///                                          └▶ starting ─ leftAhead ─▶ ending
/// ```
///
/// One worker serves the line at any time, even where all slots are taken, and as many more as
/// there are slots free.
extension SchedulerState {
  // MARK: Into the line

  /// The operation's readiness may have changed.
  package mutating func offered(_ member: Member) {
    switch member.placement {
    case .waiting, .evaluating, .parked: break
    case .started:
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
    case .started: member.fields.isNudged = true
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
  package mutating func holdReleased(_ member: Member, leavesAhead: Bool) {
    if leavesAhead { member.fields.leavesAhead = true }
    if member.use({ $0.readiness.step { $0.holdReleased() } }) == .ready { offered(member) }
  }

  /// An operation was started without a slot, and the start has returned.
  mutating func leftAhead(_ member: Member, isEnd: Bool, _ effects: inout Effects) {
    servedWithoutSlot -= 1
    returned(member, isEnd: isEnd, &effects)
  }
}
