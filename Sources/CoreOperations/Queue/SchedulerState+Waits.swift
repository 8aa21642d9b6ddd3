/// The waits that a queue causes, before an operation starts or resumes.
extension SchedulerState {
  /// Returns the waits that the queue causes before an operation starts, or before it resumes after a pause.
  ///
  /// - Parameters:
  ///   - operation: A member.
  ///   - isLaterIncluded: Whether the result includes waits that begin only once other waits have ended.
  /// - Returns: The waits.
  /// - Complexity: O(n), n the number of members, if one of the waits is for a slot or for a barrier.
  ///   Otherwise O(1).
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

  /// The need of all operations that wait for a slot; nil if a slot is free, or if the program has to act
  /// first.
  var needOfSlot: WaitNeed? { isFull ? needOfSlot(heldBy: slotHolders) : nil }

  private func needOfSlot(heldBy holders: [Operation]) -> WaitNeed? {
    guard limit > 0, !isBarrierRunning else { return nil }
    // A worker may be evaluating whether an operation may start. Such an operation starts or releases its
    // slot, unless the evaluation itself waits.
    let holders = holders.filter { holder in
      let member = Member(holder)
      return self[member].placement != .started
        || holder.life.current.phase > .enqueued && !self[member, .isPaused]
        || holder.hasOwnWaits
    }
    // More than one holder has to end if the limit was lowered, because the first ends leave no free slot.
    let missing = holders.count - limit + 1
    guard missing > 0 else { return nil }
    return WaitNeed(units: missing, from: holders.map { .init(.idle($0), units: 1) })
  }

  private var isFull: Bool { slotsInUse >= limit }

  /// Whether an operation hasn't started, or has paused and wants to resume.
  private func isOnItsWay(_ member: Member) -> Bool {
    if member.use({ $0.life.current.phase <= .enqueued }) { return true }
    return self[member, .isPaused] && !self[member].isFinished && self[member].placement != .paused
  }

  /// Whether an operation needs a resource of the queue that it doesn't have.
  private func isWaiting(_ member: Member) -> Bool {
    if self[member, .holdsSlot] || self[member, .leavesAhead] { return false }
    // While its body awaits, the operation needs nothing yet. It can't end without a slot, though.
    if self[member, .hasReleasedSlot] { return !member.isCancelled }
    switch self[member].placement {
    case .started, .granted, .paused, .ending, .gone: return false
    case .outside, .waiting, .behindBarrier, .service, .evaluating, .ready, .parked: return true
    }
  }

  /// Returns the members for which a barrier in front of an operation waits.
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
