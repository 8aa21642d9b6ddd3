/// Where a member stands, and what moves it.
extension SchedulerState {
  /// Moves a member: out of the line that belongs to its place, and into that of the new one.
  @inline(__always)
  mutating func move(_ member: Member, to placement: Placement) {
    leaveLine(member)
    member.fields.move(to: placement)
    enterLine(member)
  }

  @inline(__always)
  mutating func enterLine(_ member: Member) {
    switch member.placement {
    case .behindBarrier: withBarrier(of: member) { $0.line.append(member) }
    case .service: service.append(member)
    case .ready:
      if member.fields.needsNoSlot { helping.insert(member) } else { ready.insert(member) }
    // One that a worker is asking about is found by that.
    case .granted: if !member.fields.isOnStack { granted.insert(member) }
    case .outside, .waiting, .evaluating, .parked, .started, .paused, .ending, .gone: break
    }
  }

  @inline(__always)
  mutating func leaveLine(_ member: Member) {
    switch member.placement {
    case .behindBarrier: withBarrier(of: member) { $0.line.remove(member) }
    case .service: service.remove(member)
    case .ready:
      if member.fields.needsNoSlot { helping.remove(member) } else { ready.remove(member) }
    case .granted: if !member.fields.isOnStack { granted.remove(member) }
    case .outside, .waiting, .evaluating, .parked, .started, .paused, .ending, .gone: break
    }
  }

  /// Moves an operation that can start to the line that it starts from.
  mutating func place(_ member: Member) {
    if member.fields.leavesAhead {
      move(member, to: .service)
    } else if barriersInFront(of: member) > 0 {
      move(member, to: .behindBarrier)
    } else {
      move(member, to: .ready)
    }
  }

  /// How many barriers have to run before an operation that isn't gone may start.
  func barriersInFront(of member: Member) -> Int {
    max(0, Int(Int32(bitPattern: member.fields.segment &- activeSegment)))
  }

  /// The members that are behind all barriers; in no order.
  var membersOfLastSegment: [Operation] {
    let segment = activeSegment &+ UInt32(barriers.count)
    let count = barriers.last?.membersBehind ?? activeMembers
    return members.last(count) {
      $0.placement != .gone && $0.fields.segment == segment
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
