/// Which operations' code it is that runs on this thread and in this task.
package enum CurrentCode {
  /// The innermost operation of the layer whose body, or one of whose immediate conditions, runs
  /// here; nil outside of all.
  package static var operation: Operation? {
    for occupant in ThreadOccupant.all {
      if let operation = occupant.bodyOperation, operation.isLayered { return operation }
    }
    return TaskOccupant.current?.operation
  }

  /// The operations whose code this is: bodies, callbacks on their workers, and immediate
  /// conditions.
  package static var callers: [Operation] {
    var callers = ThreadOccupant.all.compactMap { $0.operation ?? $0.asked }
    if let operation = TaskOccupant.current?.operation { callers.append(operation) }
    return callers
  }

  /// Whether this is called from the body of an operation, and nothing else runs in between.
  package static func isBody(of operation: Operation) -> Bool {
    ThreadOccupant.isInBody(of: operation)
  }

  /// Asks a condition of an operation for what it knows at once: this thread must not block
  /// meanwhile, and a wait that does traps.
  package static func asking<Answer>(_ operation: Operation, _ ask: () -> Answer) -> Answer {
    ThreadOccupant.asking(operation, ask)
  }

  /// Observers of an operation are called from here on, and it can't go on before they return.
  ///
  /// - Returns: To be given to ``endNotifying(_:)`` on this thread.
  package static func beginNotifying(of operation: Operation) -> Notifying {
    Notifying(outer: ThreadOccupant.beginHolding(operation, by: .observer))
  }

  package static func endNotifying(_ notifying: Notifying) {
    ThreadOccupant.endHolding(notifying.outer)
  }

  package struct Notifying { fileprivate let outer: ThreadOccupant.Outer }

  /// Runs code that has nothing to do with what this thread is at, as if it were on a thread of its
  /// own.
  package static func apart(_ body: () -> Void) { ThreadOccupant.withoutAny(body) }
}

extension OperationQueue {
  /// Whether this is called on a worker of the queue, in an operation or a barrier, or by a
  /// completion block of a member.
  package final var isCalledByWorker: Bool {
    scheduler.isInOwnCompletion || ThreadOccupant.all.contains { $0.isWorker(of: self) }
  }
}
