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
