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
  ///
  /// - Parameters:
  ///   - report: What it has done.
  ///   - generation: That of the executor that it came from.
  ///   - mayLinger: Whether it may look out for work when there is none; one of a queue does.
  /// - Returns: What it does next, and what has to happen outside.
  mutating func nextStep(
    after report: Report,
    by generation: Int,
    mayLinger: Bool = false
  ) -> (Step, Effects) {
    let isStale = generation != self.generation
    if case .began = report.event, isStale { return (.leave, Effects()) }
    var effects = account(for: report)
    let step = isStale ? .leave : takeStep()
    if case .leave = step, mayLinger, !isStale, !isLingering, !isBlocked, slotsInUse < limit {
      isLingering = true
      return (.linger, effects)
    }
    loopingWorkers -= 1
    effects.requestWorker = workerNeeded()
    return (step, effects)
  }

  mutating func account(for report: Report) -> Effects {
    loopingWorkers += 1
    switch report.event {
    case .began: isWorkerRequested = false
    case .lingered:
      // It has been counted all the time.
      loopingWorkers -= 1
      isLingering = false
    case .asked: servedWithoutSlot -= 1
    case .barrierReturned:
      isBarrierRunning = false
      slotsInUse -= 1
      var effects = Effects()
      passBarrier()
      noteIdle(&effects)
      return effects
    case .startedAhead, .startReturned, .parked, .heldBack, .skipped, .ended:
      guard let operation = unsafe report.operation else { trap("a report about nothing") }
      return account(for: report, of: operation)
    }
    return Effects()
  }

  private mutating func account(for report: Report, of operation: Operation) -> Effects {
    operation.scheduling.isOnStack = false
    let wasGranted = operation.scheduling.placement == .granted
    if wasGranted { operation.scheduling.placement = .starting }
    switch report.event {
    case .ended(let hasCompletion):
      let effects = finished(operation, hasCompletion: hasCompletion)
      report.released.forEach { offered($0) }
      return effects
    case .startedAhead:
      servedWithoutSlot -= 1
      return settled(operation)
    case .startReturned: return settled(operation)
    case .parked where wasGranted && !operation.scheduling.isFinished:
      operation.scheduling.placement = .granted
      granted.append(operation)
    case .parked:
      giveBackSlot(of: operation)
      if operation.scheduling.isFinished { return settled(operation) }
      operation.scheduling.placement = .parked
      if operation.isCancelledFlag {
        expedited(operation)
      } else if operation.scheduling.isNudged {
        place(operation)
      }
    case .heldBack:
      giveBackSlot(of: operation)
      if operation.scheduling.isFinished { return settled(operation) }
      // Its turn begins anew, as that of one to which a dependency is added while it stands in line.
      operation.scheduling.placement = .waiting
      operation.scheduling.ticket = 0
      if operation.isCancelledFlag { expedited(operation) } else { offered(operation) }
    case .skipped:
      giveBackSlot(of: operation)
      if operation.scheduling.isFinished { return settled(operation) }
      operation.scheduling.isAhead = true
      operation.scheduling.placement = .service
      service.append(operation)
    case .began, .lingered, .asked, .barrierReturned: trap("a report about no operation")
    }
    return Effects()
  }

  mutating func takeStep() -> Step {
    if let operation = granted.popFirst() {
      operation.scheduling.placement = .starting
      operation.scheduling.isOnStack = true
      return unsafe .startGranted(.passRetained(operation))
    }
    if isBlocked { return .leave }
    while isServiceDue, let operation = service.popFirst() {
      let readiness = operation.readiness.current
      if readiness.progress == .none && !readiness.isDropped && !operation.isCancelledFlag {
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
      return unsafe .start(.passRetained(operation))
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
      return unsafe .startAhead(.passRetained(operation))
    }
    operation.scheduling.placement = .evaluating
    if operation.scheduling.needsReview {
      operation.scheduling.needsReview = false
      return .review(operation)
    }
    return .evaluate(operation)
  }
}
