import Synchronization

/// An object that decides which operations a queue starts and when, and lets workers start them.
///
/// ``SchedulerState`` makes the decisions under one lock, and returns them as values. Code of the program
/// runs after the lock was released. An operation counts its own readiness, and reports to the scheduler when
/// it is ready.
package final class Scheduler: @unchecked Sendable {
  // Sendable: each property is protected by a lock, is atomic, or doesn't change.

  /// The executor of completion blocks.
  ///
  /// Completion blocks run off the worker that finished the operation, and never on a dispatch queue that the
  /// program uses for something else.
  let completionExecutor: any OperationExecutor
  let state: ContendedLocked<SchedulerState>
  let valueObservers = ValueObservers()
  /// Notifies the spinning worker that there is work.
  ///
  /// The flag is written with the lock held that protects `isLingering`, so it needs no memory order.
  let hasNews = Atomic(false)
  /// Whether there is a gate.
  ///
  /// An operation that is added while the gate is set finds the gate under the lock, so this flag needs no
  /// memory order.
  private let hasGate = Atomic(false)
  /// The executor of completion blocks, if it decides every step.
  private let steppedCompletion: (any SteppedExecutor)?

  /// The scheduler of the operation whose completion block runs on this thread.
  private static let completing = ThreadLocal<Scheduler>()

  /// Whether a completion block of this queue is calling, which must not wait for its own queue.
  var isInOwnCompletion: Bool { Self.completing.value === self }

  init(source: WorkerSource, completionExecutor: any OperationExecutor) {
    state = ContendedLocked(SchedulerState(source: source))
    steppedCompletion = completionExecutor as? any SteppedExecutor
    self.completionExecutor = completionExecutor
    if source.isStepped { source.stepped?.didCreate(self) }
    LiveQueues.created(self)
  }

  /// The current source of workers.
  var source: WorkerSource { state.withLock { $0.source } }
  var executor: any OperationExecutor { source.executor }

  /// Changes the source of workers, unless the queue has operations.
  ///
  /// - Returns: Whether the source was changed. The check and the change are one step. An operation that
  ///   another thread adds is in the queue before this step, or runs on the new executor.
  func sourceChangedIfEmpty(_ source: WorkerSource) -> Bool {
    update { $0.sourceChangedIfEmpty(source) }
  }

  // MARK: Reading

  var members: [Operation] { state.withLock { $0.operations() } }
  var memberCount: Int { state.withLock { $0.members.count + $0.closures.count } }
  var isSuspended: Bool { state.withLock { $0.isSuspended } }
  var limit: Int { state.withLock { $0.limit } }
  /// The number of added operations and the number that have left, since the queue was last empty.
  var progress: (added: Int64, left: Int64) { state.withLock { ($0.addedCount, $0.leftCount) } }

  /// Notes that a total was set for the progress, or that it was reset.
  func totalChanged(isSet: Bool) { state.withLock { $0.totalChanged(countsOn: isSet) } }

  var owner: OperationQueue? { state.withLock { $0.owner } }

  func waits(of operation: Operation, isLaterIncluded: Bool) -> [Wait] {
    state.withLock { $0.waits(of: operation, isLaterIncluded: isLaterIncluded) }
  }

  func hasBarrier(inFrontOf operation: Operation) -> Bool {
    state.withLock { state in
      let member = Member(operation)
      return state[member, .isMember] && state[member].placement != .gone
        && state.barriersInFront(of: member) > 0
    }
  }

  /// Whether the call of an operation's `start()` has returned.
  func hasReturnedFromStart(_ operation: Operation) -> Bool {
    state.withLock { state in
      let member = Member(operation)
      return state[member].placement == .started && !state[member, .isOnStack]
    }
  }

  // MARK: Members

  /// Makes operations members, in order.
  ///
  /// ``letIn(_:)`` lets each of them in afterwards.
  ///
  /// - Parameters:
  ///   - operations: The new members.
  ///   - member: The member that needs the new members for its conditions; nil if there is no such member.
  ///   - owner: The queue.
  /// - Returns: Whether the code of an operation waits for the whole queue, whether a barrier may wait for
  ///   the new members, and the gate that has to receive them first.
  func add(
    _ operations: some Sequence<Operation>,
    besides member: Operation?,
    owner: OperationQueue
  ) -> (isAwaited: Bool, isBeforeBarrier: Bool, gate: (any ArrivalGate)?) {
    state.withLock { state in
      for operation in operations {
        state.memberAdded(Member(operation), besides: member.map(Member.init), owner: owner)
      }
      return (state.isAwaited, member != nil && !state.barriers.isEmpty, state.gate)
    }
  }

  /// Sets a gate that receives operations from now on, unless a gate is set.
  ///
  /// - Returns: The gate that applies, and the members that were added before it. If another gate was set
  ///   before, there are no such members.
  func close(with gate: any ArrivalGate) -> (any ArrivalGate, [Operation]) {
    state.withLock { state in
      if let first = state.gate { return (first, []) }
      state.gate = gate
      hasGate.store(true, ordering: .relaxed)
      return (gate, state.operations())
    }
  }

  var gate: (any ArrivalGate)? {
    hasGate.load(ordering: .relaxed) ? state.withLock { $0.gate } : nil
  }
  var isIdle: Bool { state.withLock { $0.isIdle } }
  var runsOnMainThread: Bool { source.isOnMainThread }

  /// Adds an operation in one step, unless an observer has to be notified in between.
  ///
  /// - Returns: Whether the operation was added.
  func addIfUnobserved(_ operation: Operation, owner: OperationQueue) -> Bool {
    guard valueObservers.isEmpty else { return false }
    let (isClosed, mayBeNeeded, isAwaited) = update { state in
      if state.gate != nil { return (true, false, false) }
      state.memberAdded(Member(operation), owner: owner)
      state.letIn(Member(operation))
      return (false, state.isWatched, state.isAwaited)
    }
    if isClosed { return false }
    // An observation, or a wait, may have begun in the meantime.
    valueObservers.look(at: owner)
    if mayBeNeeded {
      RunTimeCycles.checkNew(CollectionOfOne(operation), in: self, isAwaited: isAwaited)
    }
    return true
  }

  /// Lets the queue store closures without creating operations, if no code can notice that.
  func keepClosures() { state.withLock { $0.keepsClosures = true } }

  /// Stores a closure without an operation, unless some code would notice that it isn't an operation.
  ///
  /// - Returns: Whether the closure was stored.
  func closureAdded(_ closure: @escaping @Sendable () -> Void, owner: OperationQueue) -> Bool {
    guard valueObservers.isEmpty else { return false }
    let isAdded = update { $0.closureAdded(.init(run: closure), owner: owner) }
    // An observation may have begun in the meantime.
    if isAdded { valueObservers.look(at: owner) }
    return isAdded
  }

  func operation(ofRunning number: ClosureNumber) -> Operation? {
    state.withLock { state in
      state.closuresBecomeOperations()
      return state.closures.member(madeOf: number)?.operation
    }
  }

  /// Adds operations that need no further steps, in one batch, unless the queue is closed.
  ///
  /// - Returns: Whether the operations were added.
  func addIfOpen(_ operations: [Operation], owner: OperationQueue) -> Bool {
    let (isClosed, mayBeNeeded, isAwaited) = update { state in
      if state.gate != nil { return (true, false, false) }
      Member.forEach(in: operations) { member in
        state.memberAdded(member, owner: owner)
        state.letIn(member)
      }
      return (false, state.isWatched, state.isAwaited)
    }
    if mayBeNeeded { RunTimeCycles.checkNew(operations, in: self, isAwaited: isAwaited) }
    return !isClosed
  }

  func markAsNeeded() -> [Operation] {
    state.withLock { state in
      state.isAwaited = true
      return state.operations()
    }
  }

  /// Lets members in: from now on, the queue doesn't keep them from becoming ready.
  func letIn(_ operations: some Sequence<Operation>) {
    update { state in
      for operation in operations { state.letIn(Member(operation)) }
    }
  }

  func offered(_ operation: Operation) { update { $0.offered(Member(operation)) } }
  func leavesAhead(_ operation: Operation) { update { $0.leavesAhead(Member(operation)) } }
  func reoffered(_ operation: Operation) { update { $0.reoffered(Member(operation)) } }

  /// Reserves a slot.
  ///
  /// A call of ``wake()`` has to follow.
  func reserved(_ operation: Operation) -> Bool {
    state.withLock { $0.reserved(Member(operation)) }
  }
  func wake() { update { _ in } }

  func workerBlocks(_ worker: ThreadContext) { goOnWithout(worker) }

  /// Whether a parked operation could be started now, or is about to be started.
  func mayStart(_ operation: Operation) -> Bool {
    state.withLock { $0.mayStart(Member(operation)) }
  }

  /// Notes that the layer has released its hold of an operation.
  func holdReleased(_ operation: Operation, leavesAhead: Bool) {
    update { $0.holdReleased(Member(operation), leavesAhead: leavesAhead) }
  }

  func priorityChanged(of operation: Operation) {
    update { $0.priorityChanged(Member(operation)) }
  }

  func finished(
    _ operation: Operation,
    hasCompletion: Bool,
    isHeldUntilIdle: Bool,
    releasing released: borrowing FewObjects<Operation>
  ) {
    updateWithEffects { state, effects in
      let member = Member(operation)
      state.finished(
        member,
        hasCompletion: hasCompletion,
        isHeldUntilIdle: isHeldUntilIdle,
        &effects
      )
      released.forEach { state.offered(Member($0)) }
    }
  }

  func completionIsDue(
    _ completion: RemovableClosure<@Sendable () -> Void>,
    of operation: Operation
  ) {
    let complete: @Sendable () -> Void = {
      let outer = Self.completing.value
      Self.completing.value = self
      let block = completion.take()
      block?.call()
      Self.completing.value = outer
      self.completionReturned(operation)
      // The release of the block may itself wait for the queue. It comes last, when the queue knows that the
      // block has returned.
      withExtendedLifetime(block) {}
    }
    if let steppedCompletion {
      steppedCompletion.enqueue(.complete(operation), complete)
    } else {
      completionExecutor.enqueue(complete)
    }
  }

  private func completionReturned(_ operation: Operation) {
    updateWithEffects { $0.completionReturned(Member(operation), &$1) }
  }

  func idleHold(_ operation: Operation, isHeld: Bool) {
    updateWithEffects { $0.idleHold(Member(operation), isHeld: isHeld, &$1) }
  }

  // MARK: Pauses

  func pauseBegan(_ operation: Operation) {
    update { $0.pauseBegan(Member(operation)) }?.finish()
  }
  func pauseEnded(_ operation: Operation) {
    update { $0.pauseEnded(Member(operation)) }
    RunTimeCycles.checkPaused(operation)
  }

  func turnAbandoned(_ operation: Operation) { update { $0.turnAbandoned(Member(operation)) } }

  func awaitsOffer(_ operation: Operation) -> Bool {
    state.withLock { $0[Member(operation)].placement == .waiting }
  }

  func isPaused(_ operation: Operation) -> Bool {
    state.withLock { $0[Member(operation), .isPaused] }
  }

  // MARK: The queue

  func suspended(_ isSuspended: Bool) { update { $0.suspended(isSuspended) } }
  func limited(_ limit: Int) {
    let (old, new, slot) = update { state in
      let old = state.limit
      state.limited(limit)
      let isLower = state.limit < old
      // `needOfSlot` reads the operations that hold slots, so closures have to become operations first.
      if isLower { state.closuresBecomeOperations() }
      return (old, state.limit, isLower ? state.needOfSlot : nil)
    }
    // A queue whose limit was 0 starts operations again. After the limit was lowered, all operations that
    // hold a slot may wait for a member.
    if old == 0 || slot.map(RunTimeCycles.mayBeInCycle) == true, new > 0 {
      RunTimeCycles.checkWaiting(in: self)
    }
  }

  var requestedLimit: Int { state.withLock { $0.requestedLimit } }

  func barrierAdded(_ block: @escaping @Sendable () -> Void, owner: OperationQueue) {
    let (before, segment) = update { $0.barrierAdded(block, owner: owner) }
    RunTimeCycles.checkBarrier(before: before, in: self) {
      state.withLock { $0.hasMembers(behindBarrierOf: segment) }
    }
  }

  func sweep(isBeginning: Bool) { update { $0.sweep(isBeginning: isBeginning) } }

  /// Runs `body`, which cancels all members, and starts nothing until it has returned.
  func sweep(_ body: ([Operation]) -> Void) {
    var members: [Operation] = []
    Sweep.during([self]) { _ in
      members = state.withLock { state in
        state.sweep(isBeginning: true)
        return state.operations()
      }
    } _: {
      body(members)
    }
  }

  func waited(_ waiter: WaitList<Void>.Waiter) -> Bool { state.withLock { $0.waited(waiter) } }
  func waitCancelled() { state.withLock { $0.waitCancelled() } }

  // MARK: Effects

  @discardableResult
  @inline(__always)
  func update<Result>(_ body: (inout SchedulerState) -> Result) -> Result {
    let (result, source) = state.withLock { state in
      let result = body(&state)
      tellLingering(&state)
      return (result, state.workerNeeded())
    }
    if let source { requestWorker(from: source) }
    return result
  }

  @inline(__always)
  private func updateWithEffects(
    _ body: (inout SchedulerState, inout SchedulerState.Effects) -> Void
  ) {
    var effects = SchedulerState.Effects()
    state.withLock { state in
      body(&state, &effects)
      tellLingering(&state)
      effects.requestWorker = state.workerNeeded()
    }
    perform(&effects)
  }

  private func tellLingering(_ state: inout SchedulerState) {
    guard state.isLingering, state.hasWork else { return }
    state.isLingering = false
    hasNews.store(true, ordering: .relaxed)
  }

  /// Performs the effects outside of the lock.
  ///
  /// Only ``SchedulerState/Effects/closure`` remains in them.
  @inline(__always)
  func perform(_ effects: inout SchedulerState.Effects) {
    if let source = effects.requestWorker.take() { requestWorker(from: source) }
    switch effects.pause.take() {
    case nil: break
    case .waitsForNextTurn(let operation): RunTimeCycles.checkPaused(operation)
    case .isOver(let wait): wait.finish()
    }
    if let operation = effects.grantToReturn.take() {
      operation.layer?.returnGrant()
    }
    if effects.haveMembersLeft {
      effects.haveMembersLeft = false
      if !valueObservers.isEmpty, let queue = effects.idle?.owner ?? owner {
        valueObservers.look(at: queue)
      }
    }
    if effects.garbage != nil { effects.garbage = nil }
    // This step is the last one, because observers have to return before a wait ends.
    if let idle = effects.idle.take() { idle.waiters?.wakeAll(()) }
  }

  private func requestWorker(from source: WorkerSource) {
    if let stepped = source.stepped {
      stepped.enqueue(.decide(self)) { self.decide(source, stepped) }
    } else {
      source.enqueue(workerOf: self) { self.work(source) }
    }
  }
}

extension Scheduler: SteppedQueue {
  package var givenName: String? { owner?.givenName }
  package var unfinishedMembers: [Operation] { members.filter { !$0.isFinished } }
  package func number(of operation: Operation) -> UInt32 {
    state.withLock { $0[Member(operation)].number }
  }
  package func fingerprint(_ number: (Operation) -> UInt64) -> [UInt64] {
    state.withLock { $0.fingerprint(number) }
  }

  package func abandon() -> [Operation] {
    let abandoned = state.withLock { state in
      hasGate.store(true, ordering: .relaxed)
      return state.abandoned(closedBy: AbandonedQueueGate())
    }
    return abandoned.members
  }
}

extension Operation {
  /// The scheduler of the queue that the operation is in.
  final var scheduler: Scheduler? { withLinks { $0.scheduler } }
}
