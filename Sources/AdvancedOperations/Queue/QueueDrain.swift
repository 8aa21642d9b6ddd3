import CoreOperations

/// The end of a queue: follows its operations, and decides on those that still come.
final class QueueDrain: ArrivalGate {
  private struct State {
    /// The operations that have not ended, by their numbers.
    var open: [Int: Operation] = [:]
    var lastNumber = 0
    /// The numbers of those that were cancelled by ``cutShort(in:because:)``.
    var cut: Set<Int> = []
    /// Why the rest is cancelled; nil until then.
    var reason: OperationQueueClosed?
    var waiters: [CheckedContinuation<Void, Never>] = []
    var report = OperationDrainReport()
  }

  private let state = Locked(State())

  // MARK: Members

  /// Follows operations to their ends; cancels them if the time is over.
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
      operation.whenQuiet { self.ended($0, first + index) }
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

  func arrived(
    _ operations: [Operation],
    in object: any QueueObject,
    neededBy member: Operation?
  ) {
    let queue = object.operationQueue
    let isOwn = member != nil || queue.isCalledByMember
    var own: [Operation] = []
    var others: [Operation] = []
    for operation in operations {
      if isOwn || queue.hasAround((operation as? AdvancedOperation)?.producer) {
        own.append(operation)
      } else {
        others.append(operation)
      }
    }
    if !own.isEmpty { follow(own, in: queue) }
    if others.isEmpty { return }
    let isOver = state.withLock { state in
      state.report.turnedAwayCount += others.count
      return state.reason != nil
    }
    queue.cancel(others, reason: OperationQueueClosed(queue: queue.label, cause: .addedLate))
    if isOver { letLeave(from: queue) }
  }

  // MARK: The end

  /// Cancels what has not ended; the first reason counts.
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

  /// Lets what was cancelled leave, and barriers run.
  private func letLeave(from queue: OperationQueue) {
    if queue.isSuspended { queue.isSuspended = false }
    if queue.maxConcurrentOperationCount == 0 { queue.maxConcurrentOperationCount = 1 }
  }

  /// Waits until the queue is empty and all ends are counted; also in a cancelled task.
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
  /// Whether this is called by code of a member: by its body, a condition, a callback, a completion
  /// block, by a child of it, or by an operation of a scope in its body.
  fileprivate final var isCalledByMember: Bool {
    if isCalledByWorker || CurrentCode.callers.contains(where: hasAround) { return true }
    var delivering = CallContext.current.delivery.operation
    while let operation = delivering {
      if hasAround(operation) { return true }
      delivering = operation.withCore { $0.line.outer.operation }
    }
    return false
  }

  /// Whether an operation is a member, or is inside of one.
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
  /// Ends the queue: lets what is in it finish, takes in nothing from others, and waits until it is
  /// empty.
  ///
  /// ```swift
  /// let report = await queue.drain(within: .seconds(20))
  /// for operation in report.cutShort { logger.warning("\(operation) was cut short") }
  /// ```
  ///
  /// From the call on, an operation that is added from outside is cancelled on arrival, with
  /// ``OperationQueueClosed`` as the reason; so is one that is added after the drain has returned.
  /// An operation that a member adds is taken in: with `produce(_:)`, from its body or a child's,
  /// from an observer, a condition, or a completion block. When the time is over, all that is left
  /// is cancelled, with ``OperationQueueClosed`` as the reason, and a suspended queue is resumed,
  /// so that it can leave; again when something is added after that. The same happens at once when
  /// the waiting task is cancelled. A body that doesn't notice its cancel is waited for all the
  /// same.
  ///
  /// Barriers are no operations: they run, also when the time is over, wherever they come from.
  ///
  /// The queue may be drained by several tasks: each gets a report, and the shortest time counts.
  ///
  /// - Parameter limit: How long operations may take to finish, by the clock of the
  ///   ``environment``; nil for as long as they need: for ever, if the queue is suspended or its
  ///   limit is 0, until that is changed.
  /// - Returns: How the operations ended.
  /// - Precondition: Not called by an operation that is in the queue, or for which one in it waits.
  @discardableResult
  public final func drain(within limit: Duration? = nil) async -> OperationDrainReport {
    guard let wait = try? beginOwnWait() else {
      trap(
        "drain(within:) was called on queue “\(label)” by an operation that it would wait for. "
          + "Call it from code that is no operation of the queue."
      )
    }
    defer { endOwnWait(wait) }
    let (gate, members) = close(with: QueueDrain())
    guard let drain = gate as? QueueDrain else { trap("a queue was closed by something else") }
    drain.follow(members, in: self)
    let clock = environment.clock
    let timer = limit.map { limit in
      clock.schedule(at: clock.now.saturatingAdding(limit)) {
        drain.cutShort(in: self, because: .timeIsOver(limit))
      }
    }
    defer { timer?.cancel() }
    return await withTaskCancellationHandler {
      await drain.untilEmpty(self)
    } onCancel: {
      uninterrupted { drain.cutShort(in: self, because: .waitCancelled) }
    }
  }

  /// Whether the queue was drained, or is being drained: what is added from outside is cancelled.
  public final var isClosed: Bool { gate != nil }
}
