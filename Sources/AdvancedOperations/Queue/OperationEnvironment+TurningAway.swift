import CoreOperations

extension OperationEnvironment {
  /// Lets operations end that nothing takes in any more: in a queue of their own, which nothing
  /// waits for.
  ///
  /// - Parameters:
  ///   - operations: In no queue.
  ///   - cancel: Cancels them; gets their queue, in which nothing starts before it returns.
  func turnAway(_ operations: [Operation], cancel: (AdvancedOperationQueue) -> Void) {
    let queue = AdvancedOperationQueue(environment: self)
    queue.withoutStarts {
      queue.addOperations(operations)
      cancel(queue)
    }
  }
}
