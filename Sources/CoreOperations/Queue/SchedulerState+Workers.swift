/// The workers of a queue: what they report, and what each does next.
///
/// ``nextStep(after:releasing:from:mayLinger:_:)`` takes a report and returns a ``Step``; what has
/// to happen outside of the lock is in ``Effects``. The order in which a queue starts what could
/// start is that of ``takeStep(_:)``.
extension SchedulerState {
  /// What the caller does after unlocking.
  struct Effects {
    /// Ask for one more worker there.
    var requestWorker: WorkerSource?
    /// Members have left: the queue's properties may have changed.
    var haveMembersLeft = false
    /// What a worker that is told to ``Step/run(_:)`` runs.
    var closure: QueueClosures.Closure?
    /// Let go of a member that left.
    var garbage: Operation?
    /// Have the layer return what a start was granted with: a dependency came before it.
    var grantToReturn: Operation?
    /// What has become of the pause of an operation.
    var pause: Pause?
    /// The queue is empty.
    var idle: Idle?

    init() {}
  }

  /// What is to be done about a pause.
  enum Pause {
    /// Look whether a cycle is completed by the operation's wait for its next turn, which has just
    /// begun.
    case waitsForNextTurn(Operation)
    /// Resume the body, which waits for a slot, because the operation has ended.
    case isOver(AsyncWait)
  }

  struct Idle {
    /// Let go of the queue.
    var owner: OperationQueue?
    /// Wake what waited for that.
    var waiters: WaitList<Void>?
  }

  /// What a worker does next.
  ///
  /// A start borrows its operation: what is started can't be released before the worker has
  /// reported. What is evaluated may leave meanwhile, and is retained.
  enum Step: Sendable {
    /// Nothing to start: leave.
    case leave
    /// Nothing to start: look out for work for a moment, and come back.
    case linger
    /// Have the layer evaluate the operation's conditions; no slot is held.
    case evaluate(Operation)
    /// Start the operation on these terms.
    case start(Member, Terms)
    /// Run the closure among the effects, which is no operation.
    case run(ClosureNumber)
    /// End the operation that a closure has become while it ran, and that has returned.
    case end(Member)
    /// Run a barrier.
    case barrier(Barrier)
  }

  /// How a worker starts an operation.
  enum Terms: Sendable {
    /// Without a slot and without a question, because the operation will not execute.
    case ahead
    /// With a slot: everything is known of the operation, so that the worker does all of it.
    case known
    /// With a slot, once the operation has said that it may start.
    case asked
    /// With a slot; the layer has nothing to say.
    case unasked
    /// With a slot; the layer was asked before.
    case granted
  }

  /// What ``OperationQueue/addBarrierBlock(_:)`` was given.
  final class Barrier: @unchecked Sendable {
    // Sendable: the block is touched by the one worker that runs it.
    private var block: (@Sendable () -> Void)?

    init(_ block: @escaping @Sendable () -> Void) { self.block = block }
    func run() { block?() }
    func release() { block = nil }
  }

  /// What a worker has done since its last step.
  struct Report {
    var event: Event
    /// What it has done that to.
    private(set) var member: Member?
    /// The result of the evaluation of its conditions, if a worker brings that.
    private(set) var readiness = LayerReadiness.pending

    init(_ event: Event) { self.event = event }

    init(_ event: Event, of operation: Operation, readiness: LayerReadiness = .pending) {
      self.event = event
      self.member = Member(operation)
      self.readiness = readiness
    }
  }

  enum Event {
    /// It was just started by the executor.
    case began
    /// It looked out for work.
    case lingered
    /// The layer above was asked, without a slot.
    case asked
    /// It went away after it had asked, and is here again.
    case cameBack
    /// A start without a slot returned, maybe with the end of an operation that nothing waits for.
    case leftAhead(isEnd: Bool)
    /// The call of `start()` returned, maybe with the end of an operation that nothing waits for.
    case startReturned(isEnd: Bool)
    /// The operation may not start now.
    case parked
    /// A dependency was added after the start was decided.
    case gotDependency
    /// The work of an operation that does nothing else returned: its end, in the same step.
    case ended(hasCompletion: Bool)
    /// A closure returned; it may have become an operation meanwhile.
    case closureReturned(ClosureNumber)
    case barrierReturned
  }

  // MARK: The next step

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

  /// Gives a slot to the first in the line, unless it needs none, and decides how it starts; nil if
  /// it can't.
  @inline(__always)
  private mutating func takeSlot(for member: Member) -> Step? {
    guard hasNothingOpen(member) || member.isCancelled else {
      // A dependency was added while it stood in line.
      move(member, to: .waiting)
      return nil
    }
    if !self[member, .needsNoSlot] {
      slotsInUse += 1
      self[member, .holdsSlot] = true
    }
    self[member, .isNudged] = false
    if member.isKnown { return start(member, .known) }
    // A body that takes its slot again has its claims, and the conditions were satisfied.
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

  /// The operation that a closure has become which a worker reports as returned: has to be ended
  /// before anything else is done, and its end to be reported in turn.
  mutating func takeUnended(_ report: Report) -> Member? {
    guard case .closureReturned(let number) = report.event else { return nil }
    return closures.takeMember(madeOf: number)
  }

  // MARK: What a report changes

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
        // Its end, if that is due, takes it out of here.
        if self[member, .isNudged] { place(member) }
      } else if member.isCancelled {
        leavesAhead(member)
      } else if self[member, .isNudged] {
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
    if self[member, .isReleasedByReport] { effects.garbage = member.released() }
  }

  /// An operation whose turn came doesn't start: it gives its slot back, and leaves if it has
  /// ended.
  ///
  /// - Returns: Whether it hasn't.
  mutating func keepsPlace(_ member: Member, _ effects: inout Effects) -> Bool {
    giveBackSlot(of: member)
    if self[member].isFinished { settled(member, &effects) }
    return !self[member].isFinished
  }

  /// The start of an operation returned; one that is over leaves.
  mutating func returned(_ member: Member, isEnd: Bool, _ effects: inout Effects) {
    if isEnd {
      move(member, to: .ending)
      endRelease(of: member, &effects)
    }
    settled(member, &effects)
    if self[member, .pausesOnReturn] { pauseDue(member, &effects) }
  }

  // MARK: Workers that come and leave

  // Mutating, because the compiler copies all of this value otherwise: 88 instructions (callgrind).
  var hasWork: Bool {
    mutating get {
      if !granted.isEmpty { return true }
      if isBlocked { return false }
      return isServiceDue || (!slotless.isEmpty && limit > 0)
        || (slotsInUse < limit && (!ready.isEmpty || closures.hasWaiting || isBarrierDue))
    }
  }

  /// Where a worker has to be asked for, if one is needed; it counts as asked for then.
  mutating func workerNeeded() -> WorkerSource? {
    guard loopingWorkers == 0, !isWorkerRequested, hasWork else { return nil }
    isWorkerRequested = true
    return source
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

  /// The worker that looks out for work can't any more.
  mutating func lingeringEnded(_ effects: inout Effects) {
    isLingering = false
    loopingWorkers -= 1
    effects.requestWorker = workerNeeded()
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
}
