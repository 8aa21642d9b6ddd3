/// What keeps an operation from its turn, as far as its queue is concerned.
extension SchedulerState {
  /// What has to happen before the queue can start an operation, once it is ready.
  func needs(of operation: Operation) -> [WaitNeed] {
    guard isWaiting(operation) else { return [] }
    var needs = membersBefore(operation).map { WaitNeed(.quiet($0)) }
    if isFull, limit > 0, !isBarrierRunning {
      // One that is being asked whether it may start either does or gives its slot back.
      let holders = slotHolders.filter { holder in
        holder.scheduling.placement != .starting
          || holder.life.current.phase > .enqueued && !holder.scheduling.isPaused
      }
      // More than one when the limit was lowered: then one that ends leaves no free slot.
      let missing = holders.count - limit + 1
      if missing > 0 {
        needs.append(WaitNeed(units: missing, from: holders.map { .init(.quiet($0), units: 1) }))
      }
    }
    return needs
  }

  func causes(of operation: Operation, in queue: OperationQueue) -> [OperationWaitCause] {
    var causes: [OperationWaitCause] = []
    let isLeaving = operation.scheduling.isAhead || operation.isCancelledFlag
    if isSuspended { causes.append(.suspended(queue)) }
    if barriersInFront(of: operation) > 0 && !isLeaving {
      causes.append(.barrier(queue, behind: isBarrierRunning ? [] : membersBefore(operation)))
    }
    switch operation.scheduling.placement {
    case .parked: causes.append(.notReady)
    case .ready, .service:
      if isFull && !isLeaving {
        causes.append(.limit(queue, limit, holders: slotHolders))
      } else if causes.isEmpty {
        causes.append(.worker(queue))
      }
    case .granted, .starting:
      if causes.isEmpty { causes.append(.worker(queue)) }
    case .outside, .waiting, .heldBack, .evaluating, .paused, .gone: break
    }
    return causes
  }

  /// What keeps an operation that executes from going on after a pause.
  func causesAfterPause(of operation: Operation, in queue: OperationQueue) -> [OperationWaitCause] {
    guard operation.scheduling.isPaused, !operation.scheduling.isFinished,
      operation.scheduling.placement != .paused
    else { return [] }
    return causes(of: operation, in: queue)
  }

  private var isFull: Bool { slotsInUse >= limit }

  private func isWaiting(_ operation: Operation) -> Bool {
    if operation.scheduling.holdsSlot || operation.scheduling.isAhead { return false }
    switch operation.scheduling.placement {
    case .starting, .granted, .paused, .gone: return false
    case .outside, .waiting, .heldBack, .service, .evaluating, .ready, .parked: return true
    }
  }

  /// Members that a barrier in front of an operation waits for.
  private func membersBefore(_ operation: Operation) -> [Operation] {
    let inFront = barriersInFront(of: operation)
    if inFront == 0 { return [] }
    return members.operations.filter {
      $0.scheduling.placement != .gone && barriersInFront(of: $0) < inFront
    }
  }

  private var slotHolders: [Operation] {
    let count = slotsInUse - (isBarrierRunning ? 1 : 0)
    return members.first(count) { $0.scheduling.holdsSlot }
  }
}
