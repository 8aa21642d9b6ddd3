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
