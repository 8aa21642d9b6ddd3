import CoreOperations

/// One operation that callers share, from the first call until no body of it is running.
///
/// The lock of the ``SharedOperations`` guards it, except for the milestones.
final class SharedRun<Output: Sendable>: @unchecked Sendable {
  private enum Phase {
    /// Earlier runs of the key have to end first.
    case waiting
    /// A caller creates the operation.
    case making
    case made(ResultOperation<Output>, RunCall)
  }

  /// What a departure of a caller means for the operation.
  enum Departure {
    case hasLeftBefore
    case othersWait
    /// Nobody waits, and there is no operation.
    case lastBeforeMaking
    /// Nobody waits for the operation; its needs are given up.
    case last(RunCall)
  }

  /// Earlier runs have ended.
  let isDue: Milestone
  /// The operation exists.
  let isMade = Milestone()
  private var phase = Phase.waiting
  /// The priorities of the callers who wait, by the number of the call, and how many have each.
  private var callers: [Int: Operation.QueuePriority] = [:]
  private var counts: [Operation.QueuePriority: Int] = [:]
  private var lastNumber = 0
  /// Whether callers have left the operation, which is cancelled then.
  private var isAbandoned = false
  /// The priority that the operation has from its callers; nil if the program has set one.
  private var priority: Operation.QueuePriority?
  private var isChangingPriority = false

  init(isDue: Bool) { self.isDue = Milestone(isReached: isDue) }

  /// Whether the operation isn't being created yet.
  var isWaiting: Bool { if case .waiting = phase { true } else { false } }

  var operation: ResultOperation<Output>? {
    if case .made(let operation, _) = phase { operation } else { nil }
  }

  var callerCount: Int { callers.count }

  /// Whether the operation will have a value, as far as anybody knows.
  var isJoinable: Bool {
    guard let operation else { return true }
    return !isAbandoned && operation.outcome == nil && !operation.isCancelled
  }

  /// Whether the operation has not started, and can be joined.
  var startsLater: Bool { isJoinable && operation?.hasStarted != true }

  func addCaller(_ priority: TaskPriority) -> Int {
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
    // The caller who creates the operation looks again.
    case .making: return .othersWait
    case .made(_, let needs):
      isAbandoned = true
      return .last(needs)
    }
  }

  /// - Returns: Whether the calling task creates the operation.
  func beginMaking() -> Bool {
    guard isWaiting else { return false }
    phase = .making
    return true
  }

  /// - Returns: Whether anybody waits for the operation.
  func made(_ operation: ResultOperation<Output>, _ needs: RunCall, ownsPriority: Bool) -> Bool {
    phase = .made(operation, needs)
    if ownsPriority { priority = .normal }
    isAbandoned = callers.isEmpty
    return !isAbandoned
  }

  // MARK: Priority

  /// - Returns: The priority to set; nil if nothing has to be set, or another thread is doing that.
  func beginPriorityChange() -> (operation: Operation, priority: Operation.QueuePriority)? {
    guard let priority, !isChangingPriority, let operation,
      let wanted = counts.filter({ $0.value > 0 }).keys.max(), wanted != priority
    else { return nil }
    self.priority = wanted
    isChangingPriority = true
    return (operation, wanted)
  }

  func endPriorityChange() { isChangingPriority = false }
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

/// An event for which tasks wait, and that happens once.
final class Milestone: Sendable {
  /// The tasks that wait; nil once it was reached.
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
