import AdvancedOperations
import CoreOperations

extension FeatureWorkload {
  /// Where advanced operations may run, beside a plain queue.
  static let queues = FeatureWorkload("queues", "where advanced operations run, and who is told") {
    size in
    [
      Lane("OperationQueue", operations: size) { _ in run(size) { CountingOperation() } },
      Lane("AdvancedOperationQueue", operations: size) { _ in
        run(size, in: AdvancedOperationQueue()) { CountingOperation() }
      },
      Lane("with a delegate", operations: size, expectedRuns: 4 * size) { _ in
        let queue = AdvancedOperationQueue()
        let delegate = CountingDelegate()
        queue.delegate = delegate
        // It is weak there.
        withExtendedLifetime(delegate) { run(size, in: queue) { CountingOperation() } }
      },
      Lane("an observer of all", operations: size, expectedRuns: 2 * size) { _ in
        let queue = AdvancedOperationQueue()
        queue.addObserver(CountingObserver())
        run(size, in: queue) { CountingOperation() }
      },
      Lane("each produces the next", operations: size) { _ in
        run(1) { ProducingOperation(count: size) }
      },
      Lane("by hand", operations: size) { _ in
        for _ in 0..<size {
          let operation = CountingOperation()
          operation.start()
          guard operation.isFinished else {
            throw WrongResult(description: "one was started by hand and has not finished")
          }
        }
      },
    ]
  }
}

private final class CountingDelegate: AdvancedOperationQueueDelegate {
  func operationQueue(
    _ queue: AdvancedOperationQueue,
    willAdd operation: AdvancedOperation
  ) { RunCount.add() }

  func operationQueue(
    _ queue: AdvancedOperationQueue,
    didAdd operation: AdvancedOperation
  ) { RunCount.add() }

  func operationQueue(
    _ queue: AdvancedOperationQueue,
    didFinish operation: AdvancedOperation,
    outcome: OperationOutcome
  ) { RunCount.add() }
}

/// Produces the next one, until there were so many.
private final class ProducingOperation: AdvancedOperation, @unchecked Sendable {
  private let count: Int

  init(count: Int) { self.count = count }

  override func execute() {
    RunCount.add()
    do {
      if count > 1 { try produce(ProducingOperation(count: count - 1)) }
      finish()
    } catch {
      finish(withError: error)
    }
  }
}
