/// The workers of a queue: their reports, and the next step of each worker.
///
/// ``nextStep(after:releasing:from:mayLinger:_:)`` receives a report and returns a ``Step``. ``Effects``
/// contains the actions outside of the lock. The order of ``takeStep(_:)`` is the order in which a queue
/// starts operations that could start.
extension SchedulerState {
  /// The actions of the caller after it has released the lock.
  struct Effects {
    /// Request one more worker from this source.
    var requestWorker: WorkerSource?
    /// Notify observers of the queue's properties, because members have left.
    var haveMembersLeft = false
    /// The closure that a worker with the step ``Step/run(_:)`` runs.
    var closure: QueueClosures.Closure?
    /// Release a member that has left.
    var garbage: Operation?
    /// Let the layer return the grant of a start, because a dependency was added before the start.
    var grantToReturn: Operation?
    /// Perform this action for the pause of an operation.
    var pause: Pause?
    /// Release the queue and its waiters, because the queue is empty.
    var idle: Idle?

    init() {}
  }

  /// An action for a pause.
  enum Pause {
    /// Check whether the operation completes a cycle, because it has begun to wait to resume.
    case waitsForNextTurn(Operation)
    /// Resume the body, which waits for a slot, because the operation has ended.
    case isOver(AsyncWait)
  }

  struct Idle {
    /// Release the queue.
    var owner: OperationQueue?
    /// Wake the waiters for an empty queue.
    var waiters: WaitList<Void>?
  }

  /// The next step of a worker.
  ///
  /// A start borrows its operation, because an operation that is being started can't be released before the
  /// worker has reported. An operation that is being evaluated may leave in the meantime, so the step retains
  /// it.
  enum Step: Sendable {
    /// Leave, because there is nothing to start.
    case leave
    /// Spin for a moment and report again, because there is nothing to start.
    case linger
    /// Let the layer evaluate the conditions of the operation, without a slot.
    case evaluate(Operation)
    /// Start the operation on these terms.
    case start(Member, Terms)
    /// Run the closure of the effects, which isn't an operation.
    case run(ClosureNumber)
    /// End the operation that a closure became while it ran, because the closure has returned.
    case end(Member)
    /// Run a barrier.
    case barrier(Barrier)
  }

  /// The terms on which a worker starts an operation.
  enum Terms: Sendable {
    /// The operation starts without a slot and without an evaluation, because it won't execute.
    case ahead
    /// The operation starts with a slot. Everything is known of the operation, so the worker performs the
    /// whole execution.
    case known
    /// The operation starts with a slot, once it has reported that it may start.
    case asked
    /// The operation starts with a slot, and its layer isn't called.
    case unasked
    /// The operation starts with a slot, and its layer was called before.
    case granted
  }

  /// A barrier block of ``OperationQueue/addBarrierBlock(_:)``.
  final class Barrier: @unchecked Sendable {
    // Sendable: only the worker that runs the block accesses it.
    private var block: (@Sendable () -> Void)?

    init(_ block: @escaping @Sendable () -> Void) { self.block = block }
    func run() { block?() }
    func release() { block = nil }
  }

  /// An event that a worker reports after a step.
  struct Report {
    var event: Event
    /// The operation of the event.
    private(set) var member: Member?
    /// The result of the evaluation of conditions, if the worker reports one.
    private(set) var readiness = LayerReadiness.pending

    init(_ event: Event) { self.event = event }

    init(_ event: Event, of operation: Operation, readiness: LayerReadiness = .pending) {
      self.event = event
      self.member = Member(operation)
      self.readiness = readiness
    }
  }

  enum Event {
    /// The executor has started the worker.
    case began
    /// The worker has spun.
    case lingered
    /// The layer was called without a slot.
    case asked
    /// The worker left after it had called the layer, and is back.
    case cameBack
    /// A start without a slot returned. It may report the end of an operation for which nothing waits.
    case leftAhead(isEnd: Bool)
    /// The call of `start()` returned. It may report the end of an operation for which nothing waits.
    case startReturned(isEnd: Bool)
    /// The operation may not start now.
    case parked
    /// A dependency was added after the start was decided.
    case gotDependency
    /// The work of an operation that does nothing else has returned. The same step reports the end of the
    /// operation.
    case ended(hasCompletion: Bool)
    /// A closure returned. It may have become an operation in the meantime.
    case closureReturned(ClosureNumber)
    case barrierReturned
  }

  // MARK: The next step

  /// Handles the report of a worker and returns its next step.
  ///
  /// - Parameters:
  ///   - report: The report of the worker.
  ///   - released: The operations of this queue that waited only for the end that is reported.
  ///   - source: The source of the worker.
  ///   - mayLinger: Whether the worker may spin if there is no work. Only one worker of a queue spins at a
  ///     time.
  ///   - effects: The effects, to which the method adds.
  /// - Returns: The next step of the worker.
  mutating func nextStep(
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

  private mutating func takeStep(_ effects: inout Effects) -> Step {
    if let first = granted.first {
      return start(first, .granted)
    }
    if isBlocked { return .leave }
    while isServiceDue, let first = service.first {
      if let step = serve(first) { return step }
    }
    if !slotless.isEmpty, let step = startSlotless() { return step }
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

  /// Gives a slot to the first operation in the waiting list, and decides how the operation starts; nil if it
  /// can't start.
  ///
  /// An operation that needs no slot starts without one.
  @inline(__always)
  private mutating func takeSlot(for member: Member) -> Step? {
    guard hasNothingOpen(member) || member.isCancelled else {
      // A dependency was added while the operation was in the waiting list.
      move(member, to: .waiting)
      return nil
    }
    if !self[member, .needsNoSlot] {
      slotsInUse += 1
      self[member, .holdsSlot] = true
    }
    self[member, .isNudged] = false
    if member.isKnown { return start(member, .known) }
    // A body that acquires its slot again has its claims, and its conditions were satisfied.
    let isAsked =
      (!member.isLayered || member.use { $0.isAskedAtStart }) && !self[member, .hasReleasedSlot]
    return start(member, isAsked ? .asked : .unasked)
  }

  /// Starts the first operation that needs no slot.
  @inline(never)
  private mutating func startSlotless() -> Step? {
    while limit > 0, let first = slotless.first {
      if let step = takeSlot(for: first) { return step }
    }
    return nil
  }

  @inline(__always)
  mutating func start(_ member: Member, _ terms: Terms) -> Step {
    move(member, to: .started)
    self[member, .isOnStack] = true
    return .start(member, terms)
  }

  var isBarrierDue: Bool {
    activeMembers == 0 && !barriers.isEmpty && !isBarrierRunning
  }

  /// Removes and returns the operation that a closure has become, if the report is about the return of that
  /// closure.
  ///
  /// The caller has to end the operation before any other step, and to report that end in turn.
  mutating func takeUnended(_ report: Report) -> Member? {
    guard case .closureReturned(let number) = report.event else { return nil }
    return closures.takeMember(madeOf: number)
  }

  // MARK: Changes by a report

  private mutating func account(
    for report: Report,
    releasing released: borrowing FewObjects<Operation>,
    _ effects: inout Effects
  ) {
    loopingWorkers += 1
    switch report.event {
    case .began: isWorkerRequested = false
    case .lingered:
      // The worker was counted while it was spinning.
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
      guard let member = report.member else {
        internalError("a worker reported an event without an operation")
      }
      account(for: report.event, of: member, &effects)
      released.forEach { offered(Member($0)) }
    }
  }

  private mutating func account(for event: Event, of member: Member, _ effects: inout Effects) {
    // While a worker evaluated whether the operation may start, the operation received the grant for which it
    // would have waited.
    let wasGranted = self[member].placement == .granted
    if wasGranted { move(member, to: .started) }
    self[member, .isOnStack] = false
    switch event {
    case .ended(let hasCompletion): finished(member, hasCompletion: hasCompletion, &effects)
    case .leftAhead(let isEnd): leftAhead(member, isEnd: isEnd, &effects)
    case .startReturned(let isEnd): returned(member, isEnd: isEnd, &effects)
    case .parked where wasGranted: move(member, to: .granted)
    case .parked:
      guard keepsPlace(member, &effects) else { break }
      move(member, to: .parked)
      if self[member, .isPaused] {
        // If its end is due, that end removes the operation from this placement.
        if self[member, .isNudged] { place(member) }
      } else if member.isCancelled {
        leavesAhead(member)
      } else if self[member, .isNudged] {
        place(member)
      }
    case .gotDependency:
      guard keepsPlace(member, &effects) else { break }
      move(member, to: .waiting)
      // Other operations get the grant.
      if wasGranted { effects.grantToReturn = member.operation }
      if member.isCancelled { leavesAhead(member) } else { offered(member) }
    case .began, .lingered, .asked, .cameBack, .closureReturned, .barrierReturned:
      internalError("a worker reported the end of no operation")
    }
    if self[member, .isReleasedByReport] { effects.garbage = member.released() }
  }

  /// Takes the slot from an operation that was to start but doesn't start.
  ///
  /// If the operation has ended, it leaves.
  ///
  /// - Returns: Whether the operation hasn't ended.
  mutating func keepsPlace(_ member: Member, _ effects: inout Effects) -> Bool {
    giveBackSlot(of: member)
    if self[member].isFinished { settled(member, &effects) }
    return !self[member].isFinished
  }

  /// Handles the return of a start.
  ///
  /// An operation that has ended leaves.
  mutating func returned(_ member: Member, isEnd: Bool, _ effects: inout Effects) {
    if isEnd {
      move(member, to: .ending)
      endRelease(of: member, &effects)
    }
    settled(member, &effects)
    if self[member, .pausesOnReturn] { pauseDue(member, &effects) }
  }

  // MARK: Requesting and leaving of workers

  // The getter is mutating, because the compiler copies the whole value otherwise: 88 instructions
  // (callgrind).
  var hasWork: Bool {
    mutating get {
      if !granted.isEmpty { return true }
      if isBlocked { return false }
      return isServiceDue || (!slotless.isEmpty && limit > 0)
        || (slotsInUse < limit && (!ready.isEmpty || closures.hasWaiting || isBarrierDue))
    }
  }

  /// Returns the source of a worker, if a worker is needed.
  ///
  /// The worker counts as requested then.
  mutating func workerNeeded() -> WorkerSource? {
    guard loopingWorkers == 0, !isWorkerRequested, hasWork else { return nil }
    isWorkerRequested = true
    return source
  }

  /// Handles the report of a worker that leaves because its share is used up.
  ///
  /// Another worker is requested if there is work.
  ///
  /// - Precondition: There is no operation for ``takeUnended(_:)``.
  mutating func shareUsedUp(
    after report: Report,
    releasing released: borrowing FewObjects<Operation>,
    _ effects: inout Effects
  ) {
    account(for: report, releasing: released, &effects)
    loopingWorkers -= 1
    effects.requestWorker = workerNeeded()
  }

  /// Notes that the spinning worker can't spin any more.
  mutating func lingeringEnded(_ effects: inout Effects) {
    isLingering = false
    loopingWorkers -= 1
    effects.requestWorker = workerNeeded()
  }

  /// Changes the source of workers.
  ///
  /// A worker that was requested from the earlier source doesn't count.
  ///
  /// - Returns: Whether the source was changed; false if the queue has operations or closures.
  mutating func sourceChangedIfEmpty(_ source: WorkerSource) -> Bool {
    guard members.count == 0, closures.isEmpty else { return false }
    self.source = source
    isWorkerRequested = false
    return true
  }
}
