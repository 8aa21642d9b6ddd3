/// What workers report and are told.
extension SchedulerState {
  var isServiceDue: Bool {
    !service.isEmpty && (servedWithoutSlot == 0 || slotsInUse + servedWithoutSlot < limit)
  }

  var isBarrierDue: Bool {
    activeMembers == 0 && !barriers.isEmpty && !isBarrierRunning
  }

  var hasWork: Bool {
    if !granted.isEmpty { return true }
    if isBlocked { return false }
    return isServiceDue || (slotsInUse < limit && (!ready.isEmpty || isBarrierDue))
  }

  /// Whether a worker has to be asked for; if so, it counts as asked for.
  mutating func workerNeeded() -> Bool {
    guard loopingWorkers == 0, !isWorkerRequested, hasWork else { return false }
    isWorkerRequested = true
    return true
  }

  /// Workers come from somewhere else from now on; one that was asked for doesn't count.
  mutating func executorChanged(_ generation: Int) {
    self.generation = generation
    isWorkerRequested = false
  }

  /// A worker's share is used up: it leaves, and another is asked for if there is work.
  mutating func shareUsedUp(after report: Report) -> Effects {
    var effects = account(for: report)
    loopingWorkers -= 1
    effects.requestWorker = workerNeeded()
    return effects
  }

  /// Takes a worker's report and decides what it does next.
  mutating func nextStep(after report: Report, by generation: Int) -> (Step, Effects) {
    let isStale = generation != self.generation
    if case .began = report, isStale { return (.leave, Effects()) }
    var effects = account(for: report)
    let step = isStale ? .leave : takeStep()
    loopingWorkers -= 1
    effects.requestWorker = workerNeeded()
    return (step, effects)
  }

  mutating func account(for report: Report) -> Effects {
    loopingWorkers += 1
    switch report {
    case .began: isWorkerRequested = false
    case .nothing: break
    case .asked: servedWithoutSlot -= 1
    case .startedAhead(let operation):
      servedWithoutSlot -= 1
      operation.scheduling.isOnStack = false
      return settled(operation)
    case .startReturned(let operation):
      operation.scheduling.isOnStack = false
      return settled(operation)
    case .parked(let operation):
      giveBackSlot(of: operation)
      operation.scheduling.isOnStack = false
      if operation.scheduling.isFinished { return settled(operation) }
      operation.scheduling.placement = .parked
      if operation.isCancelledFlag {
        expedited(operation)
      } else if operation.scheduling.isNudged {
        place(operation)
      }
    case .skipped(let operation):
      giveBackSlot(of: operation)
      operation.scheduling.isOnStack = false
      if operation.scheduling.isFinished { return settled(operation) }
      operation.scheduling.isAhead = true
      operation.scheduling.placement = .service
      service.append(operation)
    case .barrierReturned:
      isBarrierRunning = false
      slotsInUse -= 1
      var effects = Effects()
      passBarrier()
      noteIdle(&effects)
      return effects
    }
    return Effects()
  }

  mutating func takeStep() -> Step {
    if let operation = granted.popFirst() {
      operation.scheduling.placement = .starting
      operation.scheduling.isOnStack = true
      return .startGranted(operation)
    }
    if isBlocked { return .leave }
    while isServiceDue, let operation = service.popFirst() {
      if operation.readiness.current.progress == .none && !operation.isCancelledFlag {
        // A dependency was added while it stood in line; it will be offered again.
        operation.scheduling.placement = .waiting
        continue
      }
      servedWithoutSlot += 1
      return serve(operation)
    }
    guard slotsInUse < limit else { return .leave }
    while let operation = ready.popFirst() {
      guard operation.readiness.current.progress == .ready || operation.isCancelledFlag else {
        // A dependency was added while it stood in line; its turn begins anew.
        operation.scheduling.placement = .waiting
        operation.scheduling.ticket = 0
        continue
      }
      slotsInUse += 1
      operation.scheduling.holdsSlot = true
      operation.scheduling.isNudged = false
      operation.scheduling.isOnStack = true
      operation.scheduling.placement = .starting
      return .start(operation)
    }
    if isBarrierDue, let block = barriers.withElement(at: 0, { $0.block.take() }) {
      isBarrierRunning = true
      slotsInUse += 1
      return .barrier(block)
    }
    return .leave
  }

  mutating func serve(_ operation: Operation) -> Step {
    if operation.scheduling.isAhead || operation.isCancelledFlag {
      operation.scheduling.placement = .starting
      operation.scheduling.isOnStack = true
      return .startAhead(operation)
    }
    operation.scheduling.placement = .evaluating
    if operation.scheduling.needsReview {
      operation.scheduling.needsReview = false
      return .review(operation)
    }
    return .evaluate(operation)
  }
}
