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
