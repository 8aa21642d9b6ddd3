/// What a queue knows: who is a member, who could start, how many slots are taken.
///
/// A plain value behind the lock of ``Scheduler``. Each event is one mutating method; what has to
/// happen outside of the lock comes back as ``Effects``.
struct SchedulerState {
  /// What the caller does after unlocking.
  @safe
  struct Effects {
    /// Ask for one more worker there.
    var requestWorker: WorkerSource?
    /// Let go of a member that left; retained.
    var garbage: Member?
    /// Tell the layer above that a start that was granted is held back; retained.
    var heldBack: Member?
    /// The queue is empty.
    var idle: Idle?
  }

  struct Idle {
    /// Let go of the queue.
    var owner: OperationQueue?
    /// Wake what waited for that.
    var waiters: WaitList<Void>?
  }

  /// An operation without the counting that handing it on costs: two atomic instructions each time.
  typealias Member = Unmanaged<Operation>

  /// What a worker does next; what it is to be done to is retained for it.
  @safe
  enum Step {
    /// Nothing to start: leave.
    case leave
    /// Nothing to start: look out for work for a moment, and come back.
    case linger
    /// Ask the layer above for the operation's conditions; no slot is held.
    case evaluate(Member)
    /// Ask the layer above whether a parked operation should be offered again; no slot is held.
    case review(Member)
    /// Start without a slot and without asking.
    case startAhead(Member)
    /// A slot is held: ask whether the operation may start, and start it.
    case start(Member)
    /// The same for an operation of a layer above; not retained, because it doesn't leave before the
    /// worker has reported.
    case startLayered(Member)
    /// The same for one that has waited since its hold was released.
    case startAfterWait(Member)
    /// The same without asking.
    case startUnasked(Member)
    /// The same for an operation of which everything is known; not retained, because only the worker
    /// can end it, and it doesn't leave before.
    case startKnown(Member)
    /// A slot is held, and the question was answered before.
    case startGranted(Member)
    /// Run a barrier.
    case barrier(Unmanaged<Barrier>)
  }

  /// What ``OperationQueue/addBarrierBlock(_:)`` was given.
  final class Barrier {
    let block: @Sendable () -> Void
    init(_ block: @escaping @Sendable () -> Void) { self.block = block }
  }

  /// What a worker has done since its last step.
  @safe
  struct Report {
    var event: Event
    /// What it has done that to; alive until this was read.
    private(set) var operation: Member?
    /// What came of a question about the operation, if that is known.
    private(set) var answer: Answer?

    init(_ event: Event) { self.event = event }

    init(_ event: Event, of operation: Operation, answer: Answer? = nil) {
      self.event = event
      unsafe self.operation = .passUnretained(operation)
      self.answer = answer
    }
  }

  /// The layer above is content with an operation.
  struct Answer {
    /// Whether it is to be started ahead of others and without a slot.
    let startsAhead: Bool
    /// Whether some of what the layer knows may have changed while it found out the rest.
    let hasWaited: Bool
    /// The ``SchedulerState/answerStamp`` from before the layer was asked; nil when that isn't known, or
    /// makes no difference.
    var since: UInt64?
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
    case startedAhead(isEnd: Bool)
    /// The call of `start()` returned, maybe with the end of an operation that nothing waits for.
    case startReturned(isEnd: Bool)
    /// The operation may not start now.
    case parked
    /// A dependency was added after the start was decided.
    case heldBack
    /// The operation is to be started without a slot.
    case skipped
    /// The work of an operation that does nothing else returned: its end, in the same step.
    case ended(hasCompletion: Bool)
    case barrierReturned
  }

  struct PendingBarrier {
    /// Taken when it runs, so that it is released by its worker and not under the lock.
    var block: Barrier?
    /// Members that were added after it and before the next one.
    var membersBehind = 0
    /// Those of them that could start if it weren't there.
    var heldBack = OperationList()
  }

  var members = MemberList()
  /// Since the queue was last idle.
  var addedCount: Int64 = 0
  var leftCount: Int64 = 0
  var isSuspended = false
  /// The limit as it was set; negative for none.
  var requestedLimit = -1
  var slotsInUse = 0
  var ready = ReadyLine()
  /// Operations in the line with tickets up to this one have waited in it: for a slot, or a resumed queue.
  var waitedTicket: UInt64 = 0
  /// How often it came about that an operation would have had to wait; one more than that.
  var waitCount: UInt64 = 1
  var service = OperationList()
  var granted = OperationList()
  var servedWithoutSlot = 0
  var barriers = FirstInFirstOut<PendingBarrier>()
  var activeSegment: UInt32 = 0
  var activeMembers = 0
  var isBarrierRunning = false
  /// Workers that will look here again without running anybody's code before.
  var loopingWorkers = 0
  /// Whether one of those is only looking out for work, and has not been told of any.
  var isLingering = false
  var isWorkerRequested = false
  /// Where workers come from; those of an earlier one leave.
  var source: WorkerSource
  var blockedStarts = 0
  /// The queue, kept alive while it has something to do.
  var owner: OperationQueue?
  var waiters: WaitList<Void>?
  /// Whether the code of an operation has waited for all members; stays set.
  var isAwaited = false
  /// Looks at new members before anything happens to them; stays set.
  var gate: (any ArrivalGate)?

  init(source: WorkerSource) { self.source = source }

  /// Whether a new member may close a ring that a wait for it can't have found before it came.
  var isWatched: Bool { isAwaited || !barriers.isEmpty }

  var isIdle: Bool { members.count == 0 && barriers.isEmpty }
  var limit: Int { requestedLimit < 0 ? .max : requestedLimit }

  // MARK: Events of members

  /// Takes in an operation; nothing happens to it before ``letIn(_:)``.
  ///
  /// - Parameters:
  ///   - operation: The new member.
  ///   - member: Behind the same barriers as this one, instead of behind all.
  ///   - owner: The queue.
  mutating func admitted(
    _ operation: Operation,
    besides member: Operation? = nil,
    owner: OperationQueue
  ) {
    // An override reported the end while the operation was on its way here.
    if operation.scheduling.isFinished {
      operation.withLinks { $0.leave() }
      return
    }
    if isIdle { begin(owner) }
    addedCount += 1
    members.append(operation)
    // A member that has left meanwhile may have let the barrier run that was behind it.
    let inFront =
      member.map { max(barriersInFront(of: $0), isBarrierRunning ? 1 : 0) } ?? barriers.count
    operation.scheduling.segment = activeSegment &+ UInt32(inFront)
    if inFront == 0 {
      activeMembers += 1
    } else {
      withBarrier(of: operation) { $0.membersBehind += 1 }
    }
  }

  /// Lets a member in, so that it can become ready.
  mutating func letIn(_ operation: Operation) {
    guard operation.scheduling.isMember, operation.scheduling.placement == .outside else { return }
    operation.scheduling.placement = .waiting
    if operation.isCancelledFlag { operation.readiness.step { $0.dropped() } }
    if operation.readiness.current.isDropped { expedited(operation) }
    if operation.readiness.step({ $0.admitted() }) != .none { offered(operation) }
  }

  /// The layer above releases its hold of an operation.
  mutating func holdReleased(_ operation: Operation, _ answer: Answer) {
    if answer.startsAhead { operation.scheduling.isAhead = true }
    if isOutdated(answer) { operation.scheduling.hasWaited = true }
    if operation.readiness.step({ $0.holdReleased() }) == .ready {
      offered(operation, isFresh: true)
    }
  }

  /// The operation's readiness may have changed.
  ///
  /// - Parameters:
  ///   - operation: The operation.
  ///   - isFresh: Whether the layer above has released its hold at this moment.
  mutating func offered(_ operation: Operation, isFresh: Bool = false) {
    switch operation.scheduling.placement {
    case .waiting: break
    case .evaluating, .parked:
      // A dependency was added after the layer was asked, and has ended.
      if !isFresh, operation.readiness.current.progress == .ready {
        operation.scheduling.hasWaited = true
      }
    case .starting:
      // A dependency was added while a worker asked, and is resolved now.
      operation.scheduling.isNudged = true
      return
    case .outside, .heldBack, .service, .ready, .granted, .paused, .gone: return
    }
    switch operation.readiness.current.progress {
    case .none: return
    case .onlyHeld:
      if operation.scheduling.placement == .evaluating { return }
      placeInService(operation)
    case .ready: place(operation)
    }
  }

  /// The operation was cancelled: it leaves ahead of others.
  mutating func expedited(_ operation: Operation) {
    // One that has executed has an end of its own.
    if operation.scheduling.isPaused { return }
    switch operation.scheduling.placement {
    case .outside, .granted, .paused, .gone: return
    case .starting:
      operation.scheduling.isNudged = true
      return
    case .service:
      operation.scheduling.isAhead = true
      return
    case .ready: ready.remove(operation)
    case .heldBack: withBarrier(of: operation) { $0.heldBack.remove(operation) }
    case .waiting, .evaluating, .parked: break
    }
    operation.scheduling.isAhead = true
    operation.scheduling.placement = .service
    service.append(operation)
  }

  /// What kept the operation parked may be gone.
  mutating func reoffered(_ operation: Operation) {
    switch operation.scheduling.placement {
    // One that waits for its next turn may end in between.
    case .parked: if !operation.scheduling.isFinished { place(operation) }
    case .starting: operation.scheduling.isNudged = true
    case .outside, .waiting, .heldBack, .service, .evaluating, .ready, .granted, .paused, .gone:
      break
    }
  }

  /// Gives a parked operation a slot, if there is one for it at this moment; one that a worker is just
  /// asking about keeps the slot that it asks with.
  ///
  /// Otherwise an operation that was refused a moment ago would be passed by others that come before
  /// it is parked.
  mutating func reserved(_ operation: Operation) -> Bool {
    guard !operation.scheduling.needsReview, !isBlocked, hasNothingOpen(operation),
      !operation.scheduling.isFinished
    else { return false }
    switch operation.scheduling.placement {
    case .parked:
      guard slotsInUse < limit else { return false }
      slotsInUse += 1
      noteWaitInLine()
      operation.scheduling.holdsSlot = true
      granted.append(operation)
    case .starting:
      guard operation.scheduling.holdsSlot, slotsInUse <= limit else { return false }
    case .outside, .waiting, .heldBack, .service, .evaluating, .ready, .granted, .paused, .gone:
      return false
    }
    operation.scheduling.placement = .granted
    return true
  }

  /// Whether a parked operation could be started now, or a worker just asks whether it may.
  func mayStart(_ operation: Operation) -> Bool {
    if operation.scheduling.placement == .starting { return true }
    return operation.scheduling.placement == .parked && !isBlocked && slotsInUse < limit
      && hasNothingOpen(operation)
  }

  mutating func priorityChanged(_ operation: Operation, level: Int) {
    guard operation.scheduling.placement == .ready else {
      operation.scheduling.level = UInt8(level)
      return
    }
    ready.remove(operation)
    operation.scheduling.level = UInt8(level)
    ready.insert(operation)
  }

  /// The operation's end was reported.
  ///
  /// - Parameters:
  ///   - operation: The operation.
  ///   - hasCompletion: Whether it stays a member until its completion block returned.
  ///   - effects: Gets what to do.
  mutating func finished(_ operation: Operation, hasCompletion: Bool, _ effects: inout Effects) {
    operation.scheduling.isFinished = true
    operation.scheduling.hasCompletion = hasCompletion
    switch operation.scheduling.placement {
    case .ready:
      ready.remove(operation)
      if operation.scheduling.isPaused { operation.scheduling.placement = .paused }
    case .heldBack: withBarrier(of: operation) { $0.heldBack.remove(operation) }
    case .service: service.remove(operation)
    case .granted where !operation.scheduling.isOnStack:
      granted.remove(operation)
      if operation.scheduling.isPaused { operation.scheduling.placement = .paused }
    case .parked where operation.scheduling.isPaused: operation.scheduling.placement = .paused
    case .outside, .waiting, .evaluating, .parked, .granted, .starting, .paused, .gone: break
    }
    settled(operation, &effects)
  }

  /// The completion block of the operation returned.
  mutating func completionReturned(_ operation: Operation, _ effects: inout Effects) {
    operation.scheduling.hasCompletion = false
    settled(operation, &effects)
  }

  /// The layer above keeps slot and membership beyond the end, or lets go of them.
  mutating func quietHold(_ operation: Operation, isHeld: Bool, _ effects: inout Effects) {
    operation.scheduling.isQuietHeld = isHeld
    settled(operation, &effects)
  }

  /// Gives back what a finished operation has, as far as nothing holds it.
  mutating func settled(_ operation: Operation, _ effects: inout Effects) {
    let isOnStack = operation.scheduling.isOnStack && operation.isLayered
    guard operation.scheduling.isFinished, operation.scheduling.isMember,
      !operation.scheduling.isQuietHeld, !isOnStack
    else { return }
    if operation.scheduling.placement != .gone {
      operation.scheduling.placement = .gone
      giveBackSlot(of: operation)
      if operation.scheduling.segment == activeSegment {
        activeMembers -= 1
      } else {
        withBarrier(of: operation) { $0.membersBehind -= 1 }
      }
    }
    if !operation.scheduling.hasCompletion {
      if operation.isLayered { operation.withLinks { $0.leave() } }
      unsafe effects.garbage = members.remove(operation)
      leftCount += 1
      noteIdle(&effects)
    }
  }

  mutating func giveBackSlot(of operation: Operation) {
    guard operation.scheduling.holdsSlot else { return }
    operation.scheduling.holdsSlot = false
    slotsInUse -= 1
  }

  /// The queue was empty and has something to do from now on.
  mutating func begin(_ owner: OperationQueue) {
    self.owner = owner
    addedCount = 0
    leftCount = 0
  }

  mutating func noteIdle(_ effects: inout Effects) {
    guard isIdle else { return }
    effects.idle = Idle(owner: owner, waiters: waiters)
    owner = nil
    waiters = nil
  }

  // MARK: Events of the queue

  /// Whether a suspension or a sweep keeps anything from being started.
  var isBlocked: Bool { isSuspended || blockedStarts > 0 }

  mutating func suspended(_ isSuspended: Bool) {
    self.isSuspended = isSuspended
    noteWaitInLine()
  }

  mutating func limited(_ limit: Int) {
    requestedLimit = limit
    noteWaitInLine()
  }

  /// Nothing is started between the two ends of a sweep over all members.
  mutating func sweep(isBeginning: Bool) {
    blockedStarts += isBeginning ? 1 : -1
    noteWaitInLine()
  }

  private var mayHaveToWait: Bool { slotsInUse >= limit || isBlocked }

  /// What an answer that is given from now on depends on; see ``Answer/since``.
  var answerStamp: UInt64 { mayHaveToWait ? 0 : waitCount }

  /// Whether an operation would have had to wait at some time since an answer was begun.
  func isOutdated(_ answer: Answer) -> Bool {
    answer.hasWaited || answer.since.map { $0 != waitCount } ?? false
  }

  /// A slot was taken, or starts may be blocked: what is in the line may have to wait from now on.
  mutating func noteWaitInLine() {
    if mayHaveToWait {
      waitedTicket = ready.lastTicket
      waitCount += 1
    }
  }

  /// Takes in a barrier.
  ///
  /// - Returns: The segment of the members that will come behind it.
  mutating func barrierAdded(
    _ block: @escaping @Sendable () -> Void,
    owner: OperationQueue
  ) -> UInt32 {
    if isIdle { begin(owner) }
    barriers.append(PendingBarrier(block: Barrier(block)))
    return activeSegment &+ UInt32(barriers.count)
  }

  /// Registers someone who waits for the queue to be empty.
  ///
  /// - Returns: Whether there is something to wait for.
  mutating func waited(_ waiter: WaitList<Void>.Waiter) -> Bool {
    if isIdle { return false }
    waiters = waiters ?? WaitList()
    waiters?.append(waiter)
    return true
  }

  mutating func waitCancelled() { waiters?.waitCancelled() }
}
