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
}
