import CoreOperations

/// An operation that callers share, from the first call until no body of it is running.
///
/// The lock of the ``SharedOperations`` guards it, except for the milestones.
final class SharedRun<Output: Sendable>: @unchecked Sendable {
  /// The operation of a run, with the operations that were added to the queue for it.
  struct Work: Sendable {
    let operation: ResultOperation<Output>
    let needs: RunCall
    /// The operations whose bodies belong to the run.
    let operations: [Operation]
    /// The operations that have the priority of the callers.
    let prioritized: [Operation]
    /// Whether the work depends on operations that had finished before it was created.
    let hasFinishedInput: Bool

    /// Claims an operation and its predecessors for this run.
    ///
    /// The initializer reads properties that may be overridden, so it isn't called with a lock held.
    init(_ operation: ResultOperation<Output>) {
      self.operation = operation
      let needs = RunCall(of: operation)
      self.needs = needs
      hasFinishedInput = needs.all.contains { $0.dependencies.contains(where: \.isFinished) }
      operations = needs.added + (needs.added.contains(operation) ? [] : [operation])
      prioritized =
        operation.queuePriority == .normal
        ? operations.filter { $0.queuePriority == .normal } : []
    }
  }

  private enum Phase {
    /// Earlier runs of the key have to end first.
    case waiting
    /// A caller creates the operation.
    case making
    case made(Work)
  }

  /// The action of a caller when the run is due.
  enum Turn {
    case hasLeft
    case makesOperation
    case waits
  }

  /// The effect of a caller's departure on the operation.
  enum Departure {
    case hasLeftBefore
    case othersWait
    /// No caller waits, and there is no operation.
    case lastBeforeMaking
    /// No caller waits for the operation. The operations that nothing else needs have to be cancelled.
    case last(Work, unneeded: [Operation])
  }

  /// Earlier runs have ended.
  let isDue: Milestone
  /// The operation exists.
  let isMade = Milestone()
  private var phase = Phase.waiting
  /// The priorities of the waiting callers by the number of their call, and the number of callers with each
  /// priority.
  private var callers: [Int: Operation.QueuePriority] = [:]
  private var counts: [Operation.QueuePriority: Int] = [:]
  private var lastNumber = 0
  /// Whether the operation is cancelled because its callers have left.
  private var isAbandoned = false
  /// The priority that was set because of the callers.
  private var priority = Operation.QueuePriority.normal
  private var isChangingPriority = false

  init(isDue: Bool) { self.isDue = Milestone(isReached: isDue) }

  /// Whether the operation isn't being created yet.
  var isWaiting: Bool { if case .waiting = phase { true } else { false } }

  private var work: Work? { if case .made(let work) = phase { work } else { nil } }

  var operation: ResultOperation<Output>? { work?.operation }

  var callerCount: Int { callers.count }

  /// Whether the operation may still have a value.
  var isJoinable: Bool {
    guard let operation else { return true }
    return !isAbandoned && operation.outcome == nil && !operation.isCancelled
  }

  /// Whether the operation can be joined, and nothing of its work has begun.
  var startsLater: Bool {
    guard isJoinable, let work else { return isJoinable }
    return !work.hasFinishedInput && work.needs.all.allSatisfy(\.isUntouched)
  }

  /// Adds a caller.
  ///
  /// - Returns: The number of the caller; nil if the operation is being cancelled.
  func addCaller(_ priority: TaskPriority) -> Int? {
    if callers.isEmpty, let work, !work.needs.waitAgain() {
      isAbandoned = true
      return nil
    }
    let priority = Operation.QueuePriority(priority)
    lastNumber += 1
    callers[lastNumber] = priority
    counts[priority, default: 0] += 1
    return lastNumber
  }

  func removeCaller(_ number: Int) -> Departure {
    guard let priority = callers.removeValue(forKey: number) else { return .hasLeftBefore }
    counts[priority, default: 0] -= 1
    if !callers.isEmpty { return .othersWait }
    switch phase {
    case .waiting: return .lastBeforeMaking
    // The caller who creates the operation checks the callers again.
    case .making: return .othersWait
    case .made(let work): return .last(work, unneeded: abandon(work))
    }
  }

  /// Gives the operation up, unless something else needs it.
  ///
  /// - Returns: The operations that nothing needs.
  private func abandon(_ work: Work) -> [Operation] {
    let unneeded = work.needs.leave()
    isAbandoned = unneeded.contains { $0 === work.operation }
    return unneeded
  }

  func turn(ofCaller number: Int) -> Turn {
    // A caller who has left doesn't act for other callers, because the run may already be removed.
    guard callers[number] != nil else { return .hasLeft }
    guard isWaiting else { return .waits }
    phase = .making
    return .makesOperation
  }

  /// - Returns: The operations that nothing needs, if all callers have left.
  func made(_ work: Work) -> [Operation] {
    phase = .made(work)
    return callers.isEmpty ? abandon(work) : []
  }

  // MARK: Priority

  /// - Returns: The priority to set; nil if it doesn't change, or another thread is setting it.
  func beginPriorityChange() -> (operations: [Operation], priority: Operation.QueuePriority)? {
    guard !isChangingPriority, let work, !work.prioritized.isEmpty,
      let wanted = counts.filter({ $0.value > 0 }).keys.max(), wanted != priority
    else { return nil }
    priority = wanted
    isChangingPriority = true
    return (work.prioritized, wanted)
  }

  func endPriorityChange() { isChangingPriority = false }
}

extension Operation {
  /// Whether nothing of the operation has begun, neither its conditions nor its body.
  fileprivate var isUntouched: Bool {
    guard let operation = self as? AdvancedOperation else { return !hasBegun }
    return operation.withCore { core in
      if core.machine.hasStarted { return false }
      switch core.machine.state {
      case .pending: return true
      case .ready: return core.conditions.isEmpty && !core.isJournaled
      case .evaluatingConditions, .executing, .finishing, .finished: return false
      }
    }
  }
}

extension Operation.QueuePriority {
  /// The priority in a queue that fits the priority of a task.
  fileprivate init(_ priority: TaskPriority) {
    self =
      switch priority {
      case ..<TaskPriority.low: .veryLow
      case ..<TaskPriority.medium: .low
      case ..<TaskPriority.high: .normal
      default: .high
      }
  }
}

/// An event that happens once, and for which tasks can wait.
final class Milestone: Sendable {
  /// The waiting tasks; nil when the event has happened.
  private let waiters: Locked<WaitList<Void>?>

  init(isReached: Bool = false) { waiters = Locked(isReached ? nil : WaitList()) }

  func reach() {
    let waiting = waiters.withLock { $0.take() }
    waiting?.wakeAll(())
  }

  /// - Throws: `CancellationError` if the task is cancelled first.
  func wait() async throws {
    try await AsyncWait().run { wait in
      self.waiters.withLock { waiters in
        waiters?.append(.task(wait))
        return waiters != nil
      }
    } unregister: { _ in
      self.waiters.withLock { $0?.waitCancelled() }
    }
  }
}
