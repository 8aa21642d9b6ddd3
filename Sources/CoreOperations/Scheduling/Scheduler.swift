/// Decides what a queue starts and when, and lets workers do it.
///
/// Decisions are made by ``SchedulerState`` under one lock, as values; user code runs after the lock
/// was given back. Operations come here ready: readiness is counted by themselves.
package final class Scheduler: Sendable {
  private let state = Locked(SchedulerState())
  /// The executor, and how many there were before.
  private let executorBox: Locked<(executor: any OperationExecutor, generation: Int)>
  let valueObservers = ValueObservers()
  /// Where completion blocks run: off the worker that finished the operation, and never on a queue
  /// that the program uses for something else.
  let completionExecutor: any OperationExecutor

  /// The queue whose worker runs on this thread.
  static let currentQueue = ThreadLocal<OperationQueue>()

  /// Makes a queue the current one of this thread for as long as a body runs.
  static func withCurrentQueue(_ queue: OperationQueue?, _ body: () -> Void) {
    let outer = currentQueue.value
    currentQueue.value = queue
    defer { withExtendedLifetime(queue) { currentQueue.value = outer } }
    body()
  }

  /// The scheduler of the operation whose completion block runs on this thread.
  private static let completing = ThreadLocal<Scheduler>()

  /// Runs a completion block, which must not wait for its own queue.
  static func withCompletion(of scheduler: Scheduler?, _ completion: () -> Void) {
    let outer = completing.value
    completing.value = scheduler
    defer { withExtendedLifetime(scheduler) { completing.value = outer } }
    completion()
  }

  var isInOwnCompletion: Bool { Self.completing.value === self }

  init(executor: any OperationExecutor, completionExecutor: any OperationExecutor) {
    executorBox = Locked((executor, 0))
    self.completionExecutor = completionExecutor
  }

  var executor: any OperationExecutor {
    get { executorBox.withLock { $0.executor } }
    set {
      let generation = executorBox.withLock { box in
        box = (newValue, box.generation + 1)
        return box.generation
      }
      update { $0.executorChanged(generation) }
    }
  }

  // MARK: Reading

  var members: [Operation] { state.withLock { $0.members.operations } }
  var memberCount: Int { state.withLock { $0.members.count } }
  var isSuspended: Bool { state.withLock { $0.isSuspended } }
  var limit: Int { state.withLock { $0.limit } }
  /// How many operations were added and have left since the queue was last empty.
  var progress: (added: Int64, left: Int64) { state.withLock { ($0.addedCount, $0.leftCount) } }
  var owner: OperationQueue? { state.withLock { $0.owner } }

  // MARK: Members

  /// Makes operations members, in order; each is let in by ``letIn(_:)`` afterwards.
  ///
  /// - Parameters:
  ///   - operations: The new members.
  ///   - member: Behind the same barriers as this one, instead of behind all.
  ///   - owner: The queue.
  func admit(_ operations: [Operation], besides member: Operation?, owner: OperationQueue) {
    state.withLock { state in
      for operation in operations { state.admitted(operation, besides: member, owner: owner) }
    }
  }

  /// Counts the queue as content with the operations, so that they can become ready.
  func letIn(_ operations: [Operation]) {
    update { state in
      for operation in operations { state.letIn(operation) }
    }
  }

  /// Looks again at operations whose last dependency finished.
  func offer(_ operations: some Sequence<Operation>) {
    update { state in
      for operation in operations { state.offered(operation) }
    }
  }

  func expedite(_ operation: Operation) { update { $0.expedited(operation) } }
  func reoffer(_ operation: Operation, afterReview: Bool) {
    update { state in
      operation.scheduling.needsReview = afterReview
      state.reoffered(operation)
    }
  }

  /// Reserves a slot; ``wake()`` has to follow.
  func reserve(_ operation: Operation) -> Bool { state.withLock { $0.reserved(operation) } }
  func wake() { update { _ in } }

  /// Marks an operation to be started without a slot once it is ready.
  func sendAhead(_ operation: Operation) {
    update { _ in operation.scheduling.isAhead = true }
  }

  /// Lets a reviewed operation back into the line, at its old turn.
  func reviewed(_ operation: Operation, isAhead: Bool) {
    update { state in
      if isAhead { operation.scheduling.isAhead = true }
      state.offered(operation)
    }
  }

  func changePriority(of operation: Operation, level: Int) {
    update { $0.priorityChanged(operation, level: level) }
  }

  /// Lets a finished operation go, and looks at the operations of this queue that waited for it.
  func finished(_ operation: Operation, hasCompletion: Bool, releasing released: [Operation]) {
    updateWithEffects { state in
      let effects = state.finished(operation, hasCompletion: hasCompletion)
      for operation in released { state.offered(operation) }
      return effects
    }
  }

  func completionReturned(_ operation: Operation) {
    updateWithEffects { $0.completionReturned(operation) }
  }

  func holdQuiet(_ operation: Operation, isHeld: Bool) {
    updateWithEffects { $0.quietHold(operation, isHeld: isHeld) }
  }

  // MARK: The queue

  func suspend(_ isSuspended: Bool) { update { $0.suspended(isSuspended) } }
  func setLimit(_ limit: Int) { update { $0.limited(limit) } }
  var requestedLimit: Int { state.withLock { $0.requestedLimit } }

  func addBarrier(_ block: @escaping @Sendable () -> Void, owner: OperationQueue) {
    update { $0.barrierAdded(block, owner: owner) }
  }

  /// Begins or ends a time in which nothing is started, whatever else is set; such times may overlap.
  func holdStarts(_ isBeginning: Bool) { update { $0.sweep(isBeginning: isBeginning) } }

  /// Runs `body`, which cancels all members, while nothing is started in between.
  func sweep(_ body: ([Operation]) -> Void) {
    let members = state.withLock { state in
      state.sweep(isBeginning: true)
      return state.members.operations
    }
    body(members)
    update { $0.sweep(isBeginning: false) }
  }

  func wait(_ waiter: WaitList.Waiter) -> Bool { state.withLock { $0.waited(waiter) } }
  func waitCancelled() { state.withLock { $0.waitCancelled() } }

  // MARK: Effects

  @discardableResult
  private func update<Result>(_ body: (inout SchedulerState) -> Result) -> Result {
    let (result, isWorkerNeeded) = state.withLock { state in
      (body(&state), state.workerNeeded())
    }
    if isWorkerNeeded { requestWorker() }
    return result
  }

  private func updateWithEffects(_ body: (inout SchedulerState) -> SchedulerState.Effects) {
    let effects = state.withLock { state in
      var effects = body(&state)
      effects.requestWorker = state.workerNeeded()
      return effects
    }
    perform(effects)
  }

  private func perform(_ effects: SchedulerState.Effects) {
    if effects.requestWorker { requestWorker() }
    if effects.garbage != nil, !valueObservers.isEmpty, let queue = effects.owner ?? owner {
      valueObservers.look(at: queue)
    }
    // Last: what observers did is done when a wait ends.
    effects.waiters.wakeAll()
  }

  private func requestWorker() {
    let (executor, generation) = executorBox.withLock { $0 }
    executor.enqueue { self.work(generation) }
  }

  // MARK: Working

  /// What a worker does: takes steps until there is none, or its share is used up.
  private func work(_ generation: Int) {
    var report = SchedulerState.Report.began
    let executor = executor
    let turn = WorkerTurn(on: executor)
    var share = max(1, executor.operationsPerWorker)
    // Keeps the queue alive for those who ask for the current one. Known from the first step on: a
    // queue that was empty when its worker came has no owner yet.
    var owner: OperationQueue?
    let outer = Self.currentQueue.value
    defer { withExtendedLifetime(owner) { Self.currentQueue.value = outer } }
    while true {
      if share == 0 || owner != nil && turn.isOver {
        perform(state.withLock { $0.shareUsedUp(after: report) })
        return
      }
      let (step, effects) = state.withLock { $0.nextStep(after: report, by: generation) }
      perform(effects)
      if case .leave = step { return }
      if owner == nil {
        owner = self.owner
        Self.currentQueue.value = owner
      }
      report = perform(step)
      share -= 1
    }
  }

  private func perform(_ step: SchedulerState.Step) -> SchedulerState.Report {
    switch step {
    case .leave: return .nothing
    case .barrier(let block):
      block()
      return .barrierReturned
    case .evaluate(let operation):
      unsafe operation.layer?.dependenciesDidFinish()
      return .asked
    case .review(let operation):
      unsafe operation.layer?.reviewBeforeReoffer()
      return .asked
    case .startAhead(let operation):
      start(operation)
      return .startedAhead(operation)
    case .startGranted(let operation):
      start(operation)
      return .startReturned(operation)
    case .start(let operation):
      switch gate(operation) {
      case .run:
        start(operation)
        return .startReturned(operation)
      case .park: return .parked(operation)
      case .skip: return .skipped(operation)
      }
    }
  }

  private func gate(_ operation: Operation) -> StartDecision {
    if operation.isCancelledFlag { return .run }
    if let layer = unsafe operation.layer { return layer.decideStart() }
    return operation.isReady ? .run : .park
  }

  private func start(_ operation: Operation) {
    switch operation.life.step({ $0.turnCame() }) {
    case .leave: return
    case .callStart:
      operation.start()
      operation.lookForFinish()
    }
  }
}
