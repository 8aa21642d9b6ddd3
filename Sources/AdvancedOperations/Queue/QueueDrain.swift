import CoreOperations

/// The drain of a queue, which follows its operations and decides about operations that are added.
final class QueueDrain: ArrivalGate {
  private struct State {
    /// The operations that have not ended, by their numbers.
    var open: [Int: Operation] = [:]
    var lastNumber = 0
    /// The numbers of the operations that ``cutShort(in:because:)`` cancelled.
    var cut: Set<Int> = []
    /// The reason for cancelling the remaining operations; nil before they are cancelled.
    var reason: OperationQueueClosed?
    var waiters: [CheckedContinuation<Void, Never>] = []
    var report = OperationDrainReport()
  }

  private let state = Locked(State())

  // MARK: Members

  /// Follows operations until they end, and cancels them if the time is over.
  func follow(_ operations: [Operation], in queue: OperationQueue) {
    let (first, reason) = state.withLock { state in
      let first = state.lastNumber + 1
      for operation in operations {
        state.lastNumber += 1
        state.open[state.lastNumber] = operation
        if state.reason != nil && !operation.isCancelled { state.cut.insert(state.lastNumber) }
      }
      return (first, state.reason)
    }
    for (index, operation) in operations.enumerated() {
      operation.whenIdle { self.ended($0, first + index) }
    }
    if let reason { queue.cancel(operations, reason: reason) }
  }

  private func ended(_ operation: Operation, _ number: Int) {
    let waiters = state.withLock { state in
      state.open[number] = nil
      state.report.count(operation, isCutShort: state.cut.contains(number))
      return state.open.isEmpty ? exchange(&state.waiters, with: []) : []
    }
    for waiter in waiters { waiter.resume() }
  }

  func admits(
    _ operations: [Operation],
    to queue: OperationQueue,
    neededBy member: Operation?
  ) -> [Operation] {
    let isOver = state.withLock { $0.reason != nil }
    let (own, others) = isOver ? ([], operations) : queue.sort(operations, neededBy: member)
    if others.isEmpty { return own }
    let reason = countTurnedAway(others, from: queue)
    let environment = (queue as? AdvancedOperationQueue)?.environment ?? OperationEnvironment()
    environment.turnAway(others) { $0.cancel(others, reason: reason) }
    return own
  }

  func arrived(
    _ operations: [Operation],
    in queue: OperationQueue,
    neededBy member: Operation?
  ) {
    let (own, others) = queue.sort(operations, neededBy: member)
    if !own.isEmpty { follow(own, in: queue) }
    if others.isEmpty { return }
    // The operations were added while the queue was being closed, and leave it as members.
    queue.cancel(others, reason: countTurnedAway(others, from: queue))
    if state.withLock({ $0.reason != nil }) { letLeave(from: queue) }
  }

  private func countTurnedAway(
    _ operations: [Operation],
    from queue: OperationQueue
  ) -> OperationQueueClosed {
    state.withLock { $0.report.turnedAwayCount += operations.count }
    return OperationQueueClosed(queue: queue.label, cause: .addedLate)
  }

  // MARK: Ending

  /// Cancels the operations that have not ended; only the first call takes effect.
  func cutShort(in queue: OperationQueue, because cause: OperationQueueClosed.Cause) {
    let reason = OperationQueueClosed(queue: queue.label, cause: cause)
    let open = state.withLock { state -> [Operation] in
      if state.reason != nil { return [] }
      state.reason = reason
      let open = state.open.sorted { $0.key < $1.key }
      for (number, operation) in open where !operation.isCancelled { state.cut.insert(number) }
      return open.map(\.value)
    }
    queue.cancel(open, reason: reason)
    letLeave(from: queue)
  }

  /// Lets cancelled operations leave, and barriers run.
  private func letLeave(from queue: OperationQueue) {
    if queue.isSuspended { queue.isSuspended = false }
    if queue.maxConcurrentOperationCount == 0 { queue.maxConcurrentOperationCount = 1 }
  }

  /// Waits until the queue is empty and all ends are counted, even in a cancelled task.
  func untilEmpty(_ queue: OperationQueue) async -> OperationDrainReport {
    while true {
      await withCheckedContinuation { continuation in queue.whenEmpty { continuation.resume() } }
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if !state.open.isEmpty { state.waiters.append(continuation) }
          return state.open.isEmpty
        }
        if isOver { continuation.resume() }
      }
      let (isOver, report) = state.withLock { ($0.open.isEmpty, $0.report) }
      if isOver && queue.isIdle { return report }
    }
  }
}

extension OperationQueue {
  /// Separates operations that members add from operations that other code adds.
  fileprivate final func sort(
    _ operations: [Operation],
    neededBy member: Operation?
  ) -> (own: [Operation], others: [Operation]) {
    if member != nil || isCalledByMember { return (operations, []) }
    var own: [Operation] = []
    var others: [Operation] = []
    for operation in operations {
      if hasAround((operation as? AdvancedOperation)?.producer) {
        own.append(operation)
      } else {
        others.append(operation)
      }
    }
    return (own, others)
  }

  /// A Boolean value that indicates whether code of a member is calling.
  ///
  /// The code may run in the member's body, a condition, a callback, a completion block or a child of the
  /// member. It may also run in an operation of a scope in the member's body.
  fileprivate final var isCalledByMember: Bool {
    if isCalledByWorker || CurrentCode.callers.contains(where: hasAround) { return true }
    var delivering = CallContext.current.notified.operation
    while let operation = delivering {
      if hasAround(operation) { return true }
      delivering = operation.withCore { $0.delivery.outer.operation }
    }
    return false
  }

  /// Returns whether an operation is a member, or is inside a member.
  fileprivate final func hasAround(_ operation: Operation?) -> Bool {
    var next = operation
    while let operation = next {
      if has(operation) { return true }
      let advanced = operation as? AdvancedOperation
      next = advanced?.parent ?? (advanced?.queue as? ScopeQueue)?.opener
    }
    return false
  }
}

extension AdvancedOperationQueue {
  /// Ends the queue: lets its operations finish, accepts no operations from outside, and waits until it is
  /// empty.
  ///
  /// ```swift
  /// let report = await queue.drain(within: .seconds(20))
  /// for operation in report.cutShort { logger.warning("\(operation) was cut short") }
  /// ```
  ///
  /// - From the call on, an operation that code other than the queue's operations adds is turned away, even
  ///   after the drain has returned.
  /// - An operation that a member of the queue adds is accepted until the time limit. Code of a member is its
  ///   body, its conditions, observers and children, and its completion block. An operation that any code
  ///   passes to `produce(_:)` of a member is accepted too.
  /// - When the time limit has passed, the remaining operations are cancelled, with ``OperationQueueClosed``
  ///   as the reason. A suspended queue is resumed, so that they can leave. From then on, every operation is
  ///   turned away, even if a member adds it. The same happens immediately if the task that awaits the drain
  ///   is cancelled.
  ///
  /// An operation that is *turned away* doesn't become a member, and the drain doesn't wait for it. The
  /// operation is cancelled with ``OperationQueueClosed`` as the reason and finishes, and its observers are
  /// notified. An observer that adds a successor whenever an operation ends should check ``isClosed`` first.
  /// Otherwise the observer adds successors forever, each of which is turned away.
  ///
  /// A body that ignores its cancellation keeps running. The drain waits for it.
  ///
  /// Barriers aren't operations. Barriers run even after the time limit, no matter which code adds them, and
  /// the drain waits for them.
  ///
  /// Several tasks may drain the queue. Each task gets a report, and the shortest time applies.
  ///
  /// - Parameter limit: The time that the operations have to finish, by the clock of the ``environment``; nil
  ///   for no limit. Without a time limit, the drain of a queue that is suspended, or whose concurrency limit
  ///   is 0, waits until you change that.
  /// - Returns: A report about the outcomes of the operations.
  /// - Precondition: The caller isn't an operation of the queue. Nor is the caller an operation for which an
  ///   operation of the queue waits.
  @discardableResult
  public final func drain(within limit: Duration? = nil) async -> OperationDrainReport {
    guard let wait = try? OwnWaits.begin(for: .queue(self)) else {
      trap(
        "drain(within:) was called on queue “\(label)” by an operation that it would wait for. "
          + "Call it from code outside of the queue's operations."
      )
    }
    defer { OwnWaits.end(wait) }
    let (gate, members) = close(with: QueueDrain())
    // The queue was abandoned with its simulation, and so has no operations.
    guard let drain = gate as? QueueDrain else { return OperationDrainReport() }
    drain.follow(members, in: self)
    let clock = environment.clock
    let timer = limit.map { limit in
      clock.schedule(at: clock.now.saturatingAdding(limit)) {
        drain.cutShort(in: self, because: .deadlineExceeded(limit))
      }
    }
    defer { timer?.cancel() }
    return await withTaskCancellationHandler {
      await drain.untilEmpty(self)
    } onCancel: {
      uninterrupted { drain.cutShort(in: self, because: .waitCancelled) }
    }
  }

  /// Whether the queue is being drained or was drained, and therefore turns away operations of other code.
  public final var isClosed: Bool { gate is QueueDrain }
}
