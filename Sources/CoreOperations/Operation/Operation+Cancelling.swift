// The effects of `cancel()` on an operation and on its queue.
extension Operation {
  /// Cancels the operation with the reason that ``cancellationReason`` then returns.
  final func cancelAsRequested(reason: (any Error)?) {
    switch flagAsCancelled(reason: reason) {
    case .leaveAhead: scheduler?.leavesAhead(self)
    case .flagged:
      // In this order: a body that stops waiting for its slot finds its task cancelled.
      cancelTask()
      scheduler?.cancelledWhileExecuting(self)
    case .ignore, .again, .askWhetherFinished: break
    }
    valuesMayHaveChanged()
  }

  /// Stores the reason of a cancel that follows.
  ///
  /// The reason is stored before the flag is set, so that a thread that reads the flag finds the reason.
  final func noteReason(_ reason: any Error) {
    let old = withLinks { links -> (any Error)? in
      guard !links.isClosed, !isCancelledFlag else { return nil }
      let extra = links.makeExtra()
      defer { extra.cancellationReason = reason }
      return extra.cancellationReason
    }
    withExtendedLifetime(old) {}
  }

  /// Sets the flag and the reason, and stops waiting for dependencies, without notifying the queue.
  final func flagAsCancelled(reason: (any Error)?) -> OperationLife.CancelAction {
    if let reason {
      noteReason(reason)
    }
    var action = life.step { $0.cancelCalled() }
    if action == .askWhetherFinished {
      // The `isFinished` of a layer can't be overridden, and this method may run under a lock of the layer.
      let isDenied = !isLayered && !isFinished
      action = isDenied ? life.step { $0.cancelCalled(isFinishDenied: true) } : .ignore
    }
    if action == .leaveAhead { readiness.step { $0.dropped() } }
    return action
  }
}

extension OperationQueue {
  /// Cancels every operation that is in the queue at this moment, with a reason if there is one.
  ///
  /// All operations are cancelled before an observer is notified, and before one of the operations is
  /// started.
  package final func cancelAll(reason: (any Error)?) {
    scheduler.sweep { Self.cancelTogether($0, reason: reason) }
  }

  /// Cancels several operations, all before an observer is notified and before one of them is started.
  package final func cancel(_ operations: [Operation], reason: (any Error)?) {
    withoutStarts { Self.cancelTogether(operations, reason: reason) }
  }

  /// Runs a body during which the queue starts no operation, even if an operation ends in the body.
  package final func withoutStarts(_ body: () -> Void) {
    Sweep.during([scheduler], body)
  }

  private static func cancelTogether(_ operations: [Operation], reason: (any Error)?) {
    HeldEvents.cancel(operations) { operation in
      operation.layer?.cancelSilently(reason: reason)
    } thenTelling: { operation in
      if let layer = operation.layer {
        layer.deliverEvents()
      } else {
        if let reason { operation.noteReason(reason) }
        operation.cancel()
      }
    }
  }
}

/// The operations that a thread cancels together: it first marks all of them, and then delivers the events of
/// one after the other.
///
/// Code of the program that is called during the delivery may wait for an operation whose events haven't been
/// delivered. So the thread performs the remaining deliveries before it blocks.
package final class HeldEvents {
  private static let current = ThreadLocal<HeldEvents>()

  private var unmarked: [Operation]
  private var untold: [Operation]
  private let mark: (Operation) -> Void
  private let tell: (Operation) -> Void
  private let outer = HeldEvents.current.value

  private init(
    _ operations: [Operation],
    _ mark: @escaping (Operation) -> Void,
    _ tell: @escaping (Operation) -> Void
  ) {
    unmarked = operations.reversed()
    untold = unmarked
    self.mark = mark
    self.tell = tell
  }

  /// Cancels operations.
  ///
  /// - Parameters:
  ///   - operations: The operations.
  ///   - mark: A closure that cancels an operation, and holds its events.
  ///   - tell: A closure that delivers the events of an operation, called once all are marked.
  package static func cancel(
    _ operations: [Operation],
    marking mark: (Operation) -> Void,
    thenTelling tell: (Operation) -> Void
  ) {
    withoutActuallyEscaping(mark) { mark in
      withoutActuallyEscaping(tell) { tell in
        let events = HeldEvents(operations, mark, tell)
        current.value = events
        events.doRest()
        current.value = events.outer
      }
    }
  }

  private func doRest() {
    while let next = unmarked.popLast() { mark(next) }
    while let next = untold.popLast() { tell(next) }
  }

  /// Marks and notifies the remaining operations, because this thread is about to block.
  static func tellAll() {
    var next = current.value
    while let events = next {
      events.doRest()
      next = events.outer
    }
  }
}

/// The time in which a thread cancels several operations, and their queues start no operation.
///
/// Code of the program that runs in that time may wait for one of the queues. An example is the `deinit` of
/// an object whose last reference a cancelled operation had. The queues resume while it waits.
final class Sweep {
  private static let current = ThreadLocal<Sweep>()

  private let schedulers: [Scheduler]
  private let outer = Sweep.current.value

  private init(_ schedulers: [Scheduler]) { self.schedulers = schedulers }

  /// Runs a body in which queues start nothing.
  ///
  /// - Parameters:
  ///   - schedulers: The schedulers of the queues.
  ///   - begin: A closure that stops the queues from starting operations. Another closure may combine this
  ///     with other changes in one step.
  ///   - body: A closure that cancels operations.
  static func during(
    _ schedulers: [Scheduler],
    begin: ([Scheduler]) -> Void = { $0.forEach { $0.sweep(isBeginning: true) } },
    _ body: () -> Void
  ) {
    let sweep = Sweep(schedulers)
    current.value = sweep
    begin(schedulers)
    body()
    for scheduler in schedulers { scheduler.sweep(isBeginning: false) }
    current.value = sweep.outer
  }

  /// Ends the sweeps of this thread until ``goOn(_:)`` is called, because the thread blocks.
  static func pause() -> [Scheduler] {
    var paused: [Scheduler] = []
    var next = current.value
    while let sweep = next {
      paused += sweep.schedulers
      next = sweep.outer
    }
    for scheduler in paused { scheduler.sweep(isBeginning: false) }
    return paused
  }

  static func goOn(_ paused: [Scheduler]) {
    for scheduler in paused { scheduler.sweep(isBeginning: true) }
  }
}
