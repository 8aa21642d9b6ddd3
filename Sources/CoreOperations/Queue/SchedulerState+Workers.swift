/// What workers report and are told.
extension SchedulerState {
  var isBarrierDue: Bool {
    activeMembers == 0 && !barriers.isEmpty && !isBarrierRunning
  }

  // Mutating, because the compiler copies all of this value otherwise: 88 instructions (callgrind).
  var hasWork: Bool {
    mutating get {
      if !granted.isEmpty { return true }
      if isBlocked { return false }
      return isServiceDue || (!helping.isEmpty && limit > 0)
        || (slotsInUse < limit && (!ready.isEmpty || closures.hasWaiting || isBarrierDue))
    }
  }

  /// The worker that looks out for work can't any more.
  mutating func lingeringEnded(_ effects: inout Effects) {
    isLingering = false
    loopingWorkers -= 1
    effects.requestWorker = workerNeeded()
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
    guard members.count == 0, closures.isEmpty else { return false }
    self.source = source
    isWorkerRequested = false
    return true
  }

  /// A worker's share is used up: it leaves, and another is asked for if there is work.
  ///
  /// - Precondition: There is nothing to ``takeUnended(_:)``.
  mutating func shareUsedUp(
    after report: Report,
    releasing released: borrowing FewObjects<Operation>,
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
  ///   - released: Operations of this queue that waited for the end that is reported, and nothing
  ///     else.
  ///   - source: Where it came from.
  ///   - mayLinger: Whether it may look out for work when there is none; one of a queue does.
  ///   - effects: Gets what has to happen outside.
  /// - Returns: What it does next.
  package mutating func nextStep(
    after report: Report,
    releasing released: borrowing FewObjects<Operation>,
    from source: WorkerSource,
    mayLinger: Bool = false,
    _ effects: inout Effects
  ) -> Step {
    let isStale = source !== self.source
    if case .began = report.event, isStale { return .leave }
    if let ended = takeUnended(report) { return .end(ended) }
    account(for: report, releasing: released, &effects)
    let step = isStale ? .leave : takeStep(&effects)
    if case .leave = step, mayLinger, !isStale, !isLingering, !isBlocked, slotsInUse < limit {
      isLingering = true
      return .linger
    }
    loopingWorkers -= 1
    effects.requestWorker = workerNeeded()
    return step
  }

  /// The operation that a closure has become which a worker reports as returned: has to be ended
  /// before anything else is done, and its end to be reported in turn.
  mutating func takeUnended(_ report: Report) -> Member? {
    guard case .closureReturned(let number) = report.event else { return nil }
    return closures.takeMember(madeOf: number)
  }

  private mutating func account(
    for report: Report,
    releasing released: borrowing FewObjects<Operation>,
    _ effects: inout Effects
  ) {
    loopingWorkers += 1
    switch report.event {
    case .began: isWorkerRequested = false
    case .lingered:
      // It has been counted all the time.
      loopingWorkers -= 1
      isLingering = false
    case .asked: asked(report)
    case .cameBack: answered(report)
    case .closureReturned(let number): closureReturned(number, &effects)
    case .barrierReturned:
      isBarrierRunning = false
      slotsInUse -= 1
      passBarrier()
      noteIdle(&effects)
    case .leftAhead, .startReturned, .parked, .gotDependency, .ended:
      guard let member = report.member else { trap("a report about nothing") }
      account(for: report.event, of: member, &effects)
      released.forEach { offered(Member($0)) }
    }
  }

  private mutating func account(for event: Event, of member: Member, _ effects: inout Effects) {
    // While it was asked whether it may start, it was given what it would have waited for.
    let wasGranted = member.placement == .granted
    if wasGranted { move(member, to: .started) }
    member.fields.isOnStack = false
    switch event {
    case .ended(let hasCompletion): finished(member, hasCompletion: hasCompletion, &effects)
    case .leftAhead(let isEnd): leftAhead(member, isEnd: isEnd, &effects)
    case .startReturned(let isEnd): returned(member, isEnd: isEnd, &effects)
    case .parked where wasGranted: move(member, to: .granted)
    case .parked:
      guard keepsPlace(member, &effects) else { break }
      move(member, to: .parked)
      if member.fields.isPaused {
        // Its end, if that is due, takes it out of here.
        if member.fields.isNudged { place(member) }
      } else if member.isCancelled {
        leavesAhead(member)
      } else if member.fields.isNudged {
        place(member)
      }
    case .gotDependency:
      guard keepsPlace(member, &effects) else { break }
      move(member, to: .waiting)
      // What it was given goes to others.
      if wasGranted { effects.grantToReturn = member.operation }
      if member.isCancelled { leavesAhead(member) } else { offered(member) }
    case .began, .lingered, .asked, .cameBack, .closureReturned, .barrierReturned:
      trap("a report about no operation")
    }
    if member.fields.isReleasedByReport { effects.garbage = member.released() }
  }

  /// An operation whose turn came doesn't start: it gives its slot back, and leaves if it has
  /// ended.
  ///
  /// - Returns: Whether it hasn't.
  mutating func keepsPlace(_ member: Member, _ effects: inout Effects) -> Bool {
    giveBackSlot(of: member)
    if member.fields.isFinished { settled(member, &effects) }
    return !member.fields.isFinished
  }

  /// The start of an operation returned; one that is over leaves.
  mutating func returned(_ member: Member, isEnd: Bool, _ effects: inout Effects) {
    if isEnd { move(member, to: .ending) }
    settled(member, &effects)
    if member.fields.pausesOnReturn { pauseDue(member, &effects) }
  }

  private mutating func takeStep(_ effects: inout Effects) -> Step {
    if let first = granted.first {
      return start(first, .granted)
    }
    if isBlocked { return .leave }
    while isServiceDue, let first = service.first {
      if let step = serve(first) { return step }
    }
    if !helping.isEmpty, let step = startHelper() { return step }
    guard slotsInUse < limit else { return .leave }
    while let first = ready.first {
      if let step = takeSlot(for: first) { return step }
    }
    if let step = startClosure(&effects) { return step }
    if isBarrierDue, let barrier = barriers.withElement(at: 0, { $0.block.take() }) {
      isBarrierRunning = true
      slotsInUse += 1
      return .barrier(barrier)
    }
    return .leave
  }

  /// Starts the first operation that needs no slot.
  @inline(never)
  private mutating func startHelper() -> Step? {
    while limit > 0, let first = helping.first {
      if let step = takeSlot(for: first) { return step }
    }
    return nil
  }

  @inline(__always)
  mutating func start(_ member: Member, _ terms: Terms) -> Step {
    move(member, to: .started)
    member.fields.isOnStack = true
    return .start(member, terms)
  }

  /// Gives a slot to the first in the line, unless it needs none, and decides how it starts; nil if
  /// it can't.
  @inline(__always)
  private mutating func takeSlot(for member: Member) -> Step? {
    guard hasNothingOpen(member) || member.isCancelled else {
      // A dependency was added while it stood in line.
      move(member, to: .waiting)
      return nil
    }
    if !member.fields.needsNoSlot {
      slotsInUse += 1
      member.fields.holdsSlot = true
    }
    member.fields.isNudged = false
    if member.isKnown { return start(member, .known) }
    let isAsked = !member.isLayered || member.fields.isAskedAtStart
    return start(member, isAsked ? .asked : .unasked)
  }
}
