// What `cancel()` does to an operation, and what its queue hears of it.
extension Operation {
  /// Cancels with the reason that ``cancellationReason`` then gives.
  final func cancelAsRequested(reason: (any Error)?) {
    if flagAsCancelled(reason: reason) == .leaveAhead {
      withLinks { $0.scheduler }?.leavesAhead(self)
    }
    valuesMayHaveChanged()
  }

  /// Keeps the reason of a cancel that follows.
  ///
  /// Before the flag, so that a thread that sees the flag finds the reason.
  final func noteReason(_ reason: any Error) {
    let old = withLinks { links -> (any Error)? in
      guard !links.isClosed, !isCancelledFlag else { return nil }
      let extra = links.makeExtra()
      defer { extra.cancellationReason = reason }
      return extra.cancellationReason
    }
    withExtendedLifetime(old) {}
  }

  /// Sets the flag and the reason, and stops waiting for dependencies; tells no queue.
  final func flagAsCancelled(reason: (any Error)?) -> OperationLife.CancelAction {
    if let reason {
      noteReason(reason)
    }
    var action = life.step { $0.cancelCalled() }
    if action == .askWhetherFinished {
      // `isFinished` of a layer can't be overridden, and this may run under a lock of the layer.
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
  /// All are cancelled before anything is notified, and before any of them is started.
  package final func cancelAll(reason: (any Error)?) {
    scheduler.sweep { Self.cancelTogether($0, reason: reason) }
  }

  /// Cancels operations, all before anything is notified, and before any of them is started.
  package final func cancel(_ operations: [Operation], reason: (any Error)?) {
    withoutStarts { Self.cancelTogether(operations, reason: reason) }
  }

  /// Decides on no start while a body runs; what ends in it lets nothing start before it has
  /// returned.
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

/// The operations that a thread cancels together: it marks all of them, and then tells of one after
/// the other.
///
/// Code of the program that is called meanwhile may wait for an operation whose turn has not come,
/// so the thread does the rest before it blocks.
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
  ///   - mark: Cancels one, and holds its events.
  ///   - tell: Tells the events of one; called once all are marked.
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

  /// This thread is about to block.
  static func tellAll() {
    var next = current.value
    while let events = next {
      events.doRest()
      next = events.outer
    }
  }
}

/// The time in which a thread cancels several operations, and their queues start nothing.
///
/// Code of the program that runs in that time may wait for one of the queues: the `deinit` of an
/// object that a cancelled operation was the last to hold. The queues go on while it waits.
final class Sweep {
  private static let current = ThreadLocal<Sweep>()

  private let schedulers: [Scheduler]
  private let outer = Sweep.current.value

  private init(_ schedulers: [Scheduler]) { self.schedulers = schedulers }

  /// Runs a body in which queues start nothing.
  ///
  /// - Parameters:
  ///   - schedulers: Those of the queues.
  ///   - begin: Has them start nothing from here on; another one does it in the same step as
  ///     something else.
  ///   - body: Cancels operations.
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

  /// This thread blocks: ends the sweeps that it is in, until ``goOn(_:)``.
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
