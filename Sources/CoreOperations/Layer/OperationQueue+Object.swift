extension OperationQueue: QueueObject {
  package final var abstractScheduler: AbstractScheduler { scheduler }
}

extension QueueObject {
  /// The queue as programs see it.
  package var operationQueue: OperationQueue {
    // No other type conforms.
    unsafe unsafeDowncast(self, to: OperationQueue.self)
  }
}

extension OperationQueue {
  /// Has the queue take in closures without operations; called in `init` by classes that don't
  /// override `addOperation(_:)`.
  package final func keepClosures() { scheduler.keepClosures() }
}
