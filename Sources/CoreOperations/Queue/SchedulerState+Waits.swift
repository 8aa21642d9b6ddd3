/// What keeps an operation from its turn, as far as its queue is concerned.
extension SchedulerState {
  /// All that the queue lets an operation wait for before its start, or before its next turn after
  /// a pause.
  ///
  /// - Parameters:
  ///   - operation: A member.
  ///   - isLaterIncluded: Whether that includes what keeps it only once others are over.
  /// - Returns: What keeps it.
  /// - Complexity: O(n), n the number of members, when one of the waits is for a slot or for a
  ///   barrier, and otherwise O(1).
  func waits(of operation: Operation, isLaterIncluded: Bool) -> [Wait] {
    guard let owner else { return [] }
    let member = Member(operation)
    let isOnItsWay = isOnItsWay(member)
    let isWaiting = isWaiting(member)
    let isLeaving = self[member, .leavesAhead] || member.isCancelled
    let isKept = isOnItsWay && !isLeaving
    let waitsLater = isWaiting && isLaterIncluded
    var waits: [Wait] = []
    if isSuspended && isOnItsWay { waits.append(Wait(.resumption(owner))) }
    if (isKept || waitsLater) && barriersInFront(of: member) > 0 {
      let before = membersBefore(member)
      waits.append(
        Wait(
          .barrier(owner),
          of: isBarrierRunning ? [] : before,
          until: isWaiting ? .leaves(before) : .byItself,
          isCurrent: isKept
        )
      )
    }
    let isInLine = self[member].placement == .ready || self[member].placement == .service
    if isFull(for: member) && (isKept && isInLine || waitsLater) {
      let holders = slotHolders
      let need = isWaiting ? needOfSlot(heldBy: holders) : nil
      waits.append(
        Wait(
          .slot(owner, limit: limit),
          of: holders,
          until: need.map { .needs([$0]) } ?? .byItself,
          isCurrent: isKept && isInLine
        )
      )
    }
    guard isOnItsWay else { return waits }
    switch self[member].placement {
    case .parked: waits.append(Wait(.readiness))
    case .ready, .service, .granted, .started:
      if !waits.contains(where: \.isCurrent), !owner.isHidden {
        waits.append(Wait(.worker(owner)))
      }
    case .outside, .waiting, .behindBarrier, .evaluating, .paused, .ending, .gone: break
    }
    return waits
  }

  /// What has to happen before there is a free slot: the same for all that wait for one; nil if
  /// there is one, or people have to do something for it.
  var needOfSlot: WaitNeed? { isFull ? needOfSlot(heldBy: slotHolders) : nil }

  private func needOfSlot(heldBy holders: [Operation]) -> WaitNeed? {
    guard limit > 0, !isBarrierRunning else { return nil }
    // One that is being asked whether it may start either does or gives its slot back, unless its
    // answer waits.
    let holders = holders.filter { holder in
      let member = Member(holder)
      return self[member].placement != .started
        || holder.life.current.phase > .enqueued && !self[member, .isPaused]
        || holder.hasOwnWaits
    }
    // More than one when the limit was lowered: then one that ends leaves no free slot.
    let missing = holders.count - limit + 1
    guard missing > 0 else { return nil }
    return WaitNeed(units: missing, from: holders.map { .init(.idle($0), units: 1) })
  }

  private var isFull: Bool { slotsInUse >= limit }

  /// Whether an operation has not started, or has paused and wants to go on.
  private func isOnItsWay(_ member: Member) -> Bool {
    if member.use({ $0.life.current.phase <= .enqueued }) { return true }
    return self[member, .isPaused] && !self[member].isFinished && self[member].placement != .paused
  }

  /// Whether an operation needs something of the queue that it hasn't got.
  private func isWaiting(_ member: Member) -> Bool {
    if self[member, .holdsSlot] || self[member, .leavesAhead] { return false }
    // While its body awaits, the operation needs nothing yet. It can't end without a slot, though.
    if self[member, .hasReleasedSlot] { return !member.isCancelled }
    switch self[member].placement {
    case .started, .granted, .paused, .ending, .gone: return false
    case .outside, .waiting, .behindBarrier, .service, .evaluating, .ready, .parked: return true
    }
  }

  /// Members that a barrier in front of an operation waits for.
  private func membersBefore(_ member: Member) -> [Operation] {
    let inFront = barriersInFront(of: member)
    if inFront == 0 { return [] }
    return members.first(.max) { self[$0].placement != .gone && barriersInFront(of: $0) < inFront }
  }

  private var slotHolders: [Operation] {
    let count = slotsInUse - (isBarrierRunning ? 1 : 0)
    return members.first(count) { self[$0, .holdsSlot] }
  }
}
