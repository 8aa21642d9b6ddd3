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

  /// Where a worker has to be asked for, if one is needed; it counts as asked for then.
  mutating func workerNeeded() -> WorkerSource? {
    guard loopingWorkers == 0, !isWorkerRequested, hasWork else { return nil }
    isWorkerRequested = true
    return source
  }

  /// Workers come from somewhere else from now on; one that was asked for doesn't count.
  ///
  /// - Returns: False, and nothing changed, if there are operations.
  mutating func sourceChangedIfEmpty(_ source: WorkerSource) -> Bool {
    guard members.count == 0 else { return false }
    self.source = source
    isWorkerRequested = false
    return true
  }

  /// A worker's share is used up: it leaves, and another is asked for if there is work.
  mutating func shareUsedUp(
    after report: Report,
    releasing released: borrowing FewOperations,
    _ effects: inout Effects
  ) {
    account(for: report, releasing: released, &effects)
    loopingWorkers -= 1
    effects.requestWorker = workerNeeded()
  }

  /// Takes a worker's report and decides what it does next.
  ///
  /// - Parameters:
  ///   - report: What it has done.
  ///   - released: Operations of this queue that waited for the end that is reported, and nothing else.
  ///   - source: Where it came from.
  ///   - mayLinger: Whether it may look out for work when there is none; one of a queue does.
  ///   - effects: Gets what has to happen outside.
  /// - Returns: What it does next.
  mutating func nextStep(
    after report: Report,
    releasing released: borrowing FewOperations,
    from source: WorkerSource,
    mayLinger: Bool = false,
    _ effects: inout Effects
  ) -> Step {
    let isStale = source !== self.source
    if case .began = report.event, isStale { return .leave }
    account(for: report, releasing: released, &effects)
    let step = isStale ? .leave : takeStep()
    if case .leave = step, mayLinger, !isStale, !isLingering, !isBlocked, slotsInUse < limit {
      isLingering = true
      return .linger
    }
    loopingWorkers -= 1
    effects.requestWorker = workerNeeded()
    return step
  }

  private mutating func account(
    for report: Report,
    releasing released: borrowing FewOperations,
    _ effects: inout Effects
  ) {
    loopingWorkers += 1
    switch report.event {
    case .began: isWorkerRequested = false
    case .lingered:
      // It has been counted all the time.
      loopingWorkers -= 1
      isLingering = false
    case .asked:
      servedWithoutSlot -= 1
      answered(report)
    case .cameBack: answered(report)
    case .barrierReturned:
      isBarrierRunning = false
      slotsInUse -= 1
      passBarrier()
      noteIdle(&effects)
    case .startedAhead, .startReturned, .parked, .heldBack, .skipped, .ended:
      guard let operation = unsafe report.operation else { trap("a report about nothing") }
      unsafe operation._withUnsafeGuaranteedRef { account(for: report.event, of: $0, &effects) }
      released.forEach { offered($0) }
    }
  }

  /// A worker comes with the answer to what it asked, if there is one already.
  private mutating func answered(_ report: Report) {
    guard let answer = report.answer, let operation = unsafe report.operation else { return }
    unsafe operation._withUnsafeGuaranteedRef { holdReleased($0, answer) }
  }

  private mutating func account(
    for event: Event,
    of operation: Operation,
    _ effects: inout Effects
  ) {
    operation.scheduling.isOnStack = false
    let wasGranted = operation.scheduling.placement == .granted
    if wasGranted { operation.scheduling.placement = .starting }
    switch event {
    case .ended(let hasCompletion):
      finished(operation, hasCompletion: hasCompletion, &effects)
    case .startedAhead(let isEnd):
      servedWithoutSlot -= 1
      returned(operation, isEnd: isEnd, &effects)
    case .startReturned(let isEnd): returned(operation, isEnd: isEnd, &effects)
    case .parked where wasGranted && !operation.scheduling.isFinished:
      operation.scheduling.placement = .granted
      granted.append(operation)
    case .parked:
      giveBackSlot(of: operation)
      if operation.scheduling.isFinished { return settled(operation, &effects) }
      operation.scheduling.placement = .parked
      if operation.scheduling.isPaused {
        // Its end, if that is due, takes it out of here.
        if operation.scheduling.isNudged { place(operation) }
      } else if operation.isCancelledFlag {
        expedited(operation)
      } else if operation.scheduling.isNudged {
        place(operation)
      }
    case .heldBack:
      giveBackSlot(of: operation)
      if operation.scheduling.isFinished { return settled(operation, &effects) }
      // Its turn begins anew, as that of one to which a dependency is added while it stands in line.
      operation.scheduling.placement = .waiting
      operation.scheduling.ticket = 0
      operation.scheduling.hasWaited = true
      // Granted while its worker found that it may not start: what it was given goes to others.
      if wasGranted { unsafe effects.heldBack = .passRetained(operation) }
      if operation.isCancelledFlag { expedited(operation) } else { offered(operation) }
    case .skipped:
      giveBackSlot(of: operation)
      if operation.scheduling.isFinished { return settled(operation, &effects) }
      operation.scheduling.isAhead = true
      operation.scheduling.placement = .service
      service.append(operation)
    case .began, .lingered, .asked, .cameBack, .barrierReturned: trap("a report about no operation")
    }
  }

  /// The start of an operation returned; one that is over leaves.
  private mutating func returned(
    _ operation: Operation,
    isEnd: Bool,
    _ effects: inout Effects
  ) {
    if isEnd { operation.scheduling.isFinished = true }
    settled(operation, &effects)
    if operation.scheduling.pausesOnReturn { pauseDue(operation) }
  }

  mutating func takeStep() -> Step {
    if let first = unsafe granted.popFirst() {
      return unsafe first._withUnsafeGuaranteedRef { operation in
        operation.scheduling.placement = .starting
        operation.scheduling.isOnStack = true
        return unsafe .startGranted(.passRetained(operation))
      }
    }
    if isBlocked { return .leave }
    while isServiceDue, let first = unsafe service.popFirst() {
      if let step = unsafe first._withUnsafeGuaranteedRef({ serve($0) }) { return step }
    }
    guard slotsInUse < limit else { return .leave }
    while let first = unsafe ready.popFirst() {
      let step = unsafe first._withUnsafeGuaranteedRef { takeSlot(for: $0) }
      if let step { return step }
    }
    if isBarrierDue, let barrier = barriers.withElement(at: 0, { $0.block.take() }) {
      isBarrierRunning = true
      slotsInUse += 1
      return unsafe .barrier(.passRetained(barrier))
    }
    return .leave
  }

  /// Gives a slot to the first in the line, and decides how it starts; nil if it can't.
  @inline(__always)
  private mutating func takeSlot(for operation: Operation) -> Step? {
    guard
      operation.readiness.current.progress == .ready || operation.isCancelledFlag
        || operation.scheduling.isPaused
    else {
      // A dependency was added while it stood in line; its turn begins anew.
      operation.scheduling.placement = .waiting
      operation.scheduling.ticket = 0
      operation.scheduling.hasWaited = true
      return nil
    }
    let hasWaitedInLine = operation.scheduling.ticket <= waitedTicket
    slotsInUse += 1
    noteWaitInLine()
    operation.scheduling.holdsSlot = true
    operation.scheduling.isNudged = false
    operation.scheduling.isOnStack = true
    operation.scheduling.placement = .starting
    if operation.isKnown { return unsafe .startKnown(.passUnretained(operation)) }
    if operation.isLayered {
      let isAsked = operation.scheduling.isAskedAtStart
      let member = unsafe Member.passUnretained(operation)
      if operation.scheduling.isAskedAfterWait, !operation.scheduling.isPaused,
        operation.scheduling.hasWaited || hasWaitedInLine
      {
        operation.scheduling.hasWaited = false
        return unsafe .startAfterWait(member)
      }
      return unsafe isAsked ? .startLayered(member) : .startUnasked(member)
    }
    return unsafe .start(.passRetained(operation))
  }

  /// Decides what is done to the first in the line of those that need no slot; nil if nothing.
  private mutating func serve(_ operation: Operation) -> Step? {
    let readiness = operation.readiness.current
    if readiness.progress == .none && !readiness.isDropped && !operation.isCancelledFlag {
      // A dependency was added while it stood in line; it will be offered again.
      operation.scheduling.placement = .waiting
      return nil
    }
    servedWithoutSlot += 1
    if operation.scheduling.isAhead || operation.isCancelledFlag {
      operation.scheduling.placement = .starting
      operation.scheduling.isOnStack = true
      return unsafe .startAhead(.passRetained(operation))
    }
    operation.scheduling.placement = .evaluating
    if operation.scheduling.needsReview {
      operation.scheduling.needsReview = false
      operation.scheduling.hasWaited = false
      return unsafe .review(.passRetained(operation))
    }
    return unsafe .evaluate(.passRetained(operation))
  }
}
