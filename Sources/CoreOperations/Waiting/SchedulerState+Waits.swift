/// What keeps an operation from its turn, as far as its queue is concerned.
extension SchedulerState {
  /// What has to happen before the queue can start an operation, once it is ready.
  func needs(of operation: Operation) -> [WaitNeed] {
    let member = Member(operation)
    guard isWaiting(member) else { return [] }
    var needs = membersBefore(member).map { WaitNeed(.quiet($0)) }
    if let slot = needOfSlot { needs.append(slot) }
    return needs
  }

  /// What has to happen before there is a free slot: the same for all that wait for one; nil if
  /// there is one, or people have to do something for it.
  var needOfSlot: WaitNeed? {
    guard isFull, limit > 0, !isBarrierRunning else { return nil }
    // One that is being asked whether it may start either does or gives its slot back.
    let holders = slotHolders.filter { holder in
      let member = Member(holder)
      return member.placement != .starting
        || holder.life.current.phase > .enqueued && !member.fields.isPaused
    }
    // More than one when the limit was lowered: then one that ends leaves no free slot.
    let missing = holders.count - limit + 1
    guard missing > 0 else { return nil }
    return WaitNeed(units: missing, from: holders.map { .init(.quiet($0), units: 1) })
  }

  func causes(of operation: Operation, in queue: OperationQueue) -> [OperationWaitCause] {
    let member = Member(operation)
    var causes: [OperationWaitCause] = []
    let isLeaving = member.fields.leavesAhead || member.isCancelled
    if isSuspended { causes.append(.suspended(queue)) }
    if barriersInFront(of: member) > 0 && !isLeaving {
      causes.append(.barrier(queue, behind: isBarrierRunning ? [] : membersBefore(member)))
    }
    switch member.placement {
    case .parked: causes.append(.notReady)
    case .ready, .service:
      if isFull && !isLeaving {
        causes.append(.limit(queue, limit, holders: slotHolders))
      } else if causes.isEmpty {
        causes.append(.worker(queue))
      }
    case .granted, .starting:
      if causes.isEmpty { causes.append(.worker(queue)) }
    case .outside, .waiting, .behindBarrier, .evaluating, .paused, .ending, .gone: break
    }
    return causes
  }

  /// What keeps an operation that executes from going on after a pause.
  func causesAfterPause(of operation: Operation, in queue: OperationQueue) -> [OperationWaitCause] {
    let member = Member(operation)
    guard member.fields.isPaused, !member.fields.isFinished, member.placement != .paused else {
      return []
    }
    return causes(of: operation, in: queue)
  }

  private var isFull: Bool { slotsInUse >= limit }

  private func isWaiting(_ member: Member) -> Bool {
    if member.fields.holdsSlot || member.fields.leavesAhead { return false }
    switch member.placement {
    case .starting, .granted, .paused, .ending, .gone: return false
    case .outside, .waiting, .behindBarrier, .service, .evaluating, .ready, .parked: return true
    }
  }

  /// Members that a barrier in front of an operation waits for.
  private func membersBefore(_ member: Member) -> [Operation] {
    let inFront = barriersInFront(of: member)
    if inFront == 0 { return [] }
    return members.first(.max) { $0.placement != .gone && barriersInFront(of: $0) < inFront }
  }

  private var slotHolders: [Operation] {
    let count = slotsInUse - (isBarrierRunning ? 1 : 0)
    return members.first(count) { $0.fields.holdsSlot }
  }
}
