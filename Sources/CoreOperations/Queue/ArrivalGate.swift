/// What becomes of operations that are added to a queue which is being drained.
///
/// Called without a lock held.
package protocol ArrivalGate: AnyObject, Sendable {
  /// Operations are about to be added: keeps out those that are turned away, and lets them end
  /// elsewhere.
  ///
  /// - Parameters:
  ///   - operations: In no queue.
  ///   - queue: The closed queue.
  ///   - member: The member that needs them for a condition; nil for none.
  /// - Returns: Those to add.
  func admits(
    _ operations: [Operation],
    to queue: OperationQueue,
    neededBy member: Operation?
  ) -> [Operation]

  /// Operations have become members, and nothing has happened to them yet. Those that came while
  /// the queue was being closed weren't kept out.
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
