package import AdvancedOperations

/// A delegate that writes down its calls, and does what a test wants in them.
package final class RecordingDelegate: AdvancedOperationQueueDelegate {
  package let log = Log<String>()
  package let willAdd = Changing<(@Sendable (AdvancedOperation) -> Void)?>(nil)
  package let didAdd = Changing<(@Sendable (AdvancedOperation) -> Void)?>(nil)
  package let didFinish = Changing<(@Sendable (AdvancedOperation) -> Void)?>(nil)

  package init() {}

  package func operationQueue(_ queue: AdvancedOperationQueue, willAdd operation: AdvancedOperation)
  {
    log.add("willAdd \(operation.name ?? "") \(queue.operations.contains(operation))")
    willAdd.value?(operation)
  }

  package func operationQueue(_ queue: AdvancedOperationQueue, didAdd operation: AdvancedOperation)
  {
    log.add("didAdd \(operation.name ?? "") \(queue.operations.contains(operation))")
    didAdd.value?(operation)
  }

  package func operationQueue(
    _ queue: AdvancedOperationQueue,
    didFinish operation: AdvancedOperation,
    outcome: OperationOutcome
  ) {
    log.add("didFinish \(operation.name ?? "") \(flaws(outcome)) \(operation.state)")
    didFinish.value?(operation)
  }
}
