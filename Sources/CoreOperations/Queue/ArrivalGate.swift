/// What becomes of operations that are added to a queue which is being drained.
package protocol ArrivalGate: AnyObject, Sendable {
  /// Operations have become members, and nothing has happened to them yet: cancels them, or takes
  /// them in. Called without a lock held.
  ///
  /// - Parameters:
  ///   - operations: The new members.
  ///   - queue: Their queue.
  ///   - member: The member that needs them for a condition; nil for none.
  func arrived(_ operations: [Operation], in queue: OperationQueue, neededBy member: Operation?)
}

extension OperationQueue {
  /// Has a gate look at each operation that is added from now on; of several gates the first
  /// counts.
  ///
  /// - Returns: The gate that counts, and the members that it has not seen: all if it is a new one.
  package final func close(with gate: any ArrivalGate) -> (any ArrivalGate, [Operation]) {
    scheduler.close(with: gate)
  }

  /// The gate, if the queue was closed.
  package final var gate: (any ArrivalGate)? { scheduler.gate }

  /// Whether neither operations nor barriers are left.
  package final var isIdle: Bool { scheduler.isIdle }

  /// Whether an operation is a member; one that has left isn't.
  package final func has(_ operation: Operation) -> Bool {
    operation.isIn(ObjectIdentifier(scheduler))
  }

  /// Whether this is called on a worker of the queue, in an operation or a barrier, or by a
  /// completion block of a member.
  package final var isCalledByWorker: Bool {
    if scheduler.isInOwnCompletion { return true }
    var next = ThreadOccupant.current
    while let occupant = next {
      if occupant.isWorker(of: self) { return true }
      next = occupant.outer
    }
    return false
  }

  /// Cancels operations, all before anything is notified, and before any of them is started.
  package final func cancel(_ operations: [Operation], reason: (any Error)?) {
    withoutStarts { Self.cancelTogether(operations, reason: reason) }
  }

  static func cancelTogether(_ operations: [Operation], reason: (any Error)?) {
    for operation in operations { unsafe operation.layer?.cancelSilently(reason: reason) }
    for operation in operations {
      if let layer = unsafe operation.layer {
        layer.deliverEvents()
      } else {
        if let reason { operation.noteReason(reason) }
        operation.cancel()
      }
    }
  }
}

extension Operation {
  /// The operations whose code this is: bodies, callbacks on their workers, and immediate
  /// conditions.
  package static var callers: [Operation] {
    var callers: [Operation] = []
    var next = ThreadOccupant.current
    while let occupant = next {
      if let operation = occupant.operation ?? occupant.asked { callers.append(operation) }
      next = occupant.outer
    }
    if let operation = TaskOccupant.current?.operation { callers.append(operation) }
    return callers
  }
}
