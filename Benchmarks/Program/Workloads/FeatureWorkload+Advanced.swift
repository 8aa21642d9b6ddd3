import AdvancedOperations
import CoreOperations

extension FeatureWorkload {
  /// What `AdvancedOperation` and what is attached to it cost; the richest lane has so many
  /// conditions and observers.
  static func advanced(conditions: Int, observers: Int) -> FeatureWorkload {
    FeatureWorkload(
      "advanced",
      "what is attached to an operation, and what it costs",
      weight: 1
    ) { size in
      [
        Lane("BlockOperation", operations: size) { _ in
          run(size) { CoreOperations.BlockOperation { RunCount.add() } }
        },
        Lane("Advanced", operations: size) { _ in run(size) { CountingOperation() } },
        Lane("1 condition, 1 observer", operations: size, expectedRuns: 2 * size) { _ in
          run(size) { attached(conditions: 1, observers: 1) }
        },
        Lane(
          "\(conditions) conditions, \(observers) observers",
          operations: size,
          expectedRuns: (1 + observers) * size
        ) { _ in
          run(size) { attached(conditions: conditions, observers: observers) }
        },
        Lane("a condition fails", operations: size, expectedRuns: size) { _ in
          run(size) {
            let operation = CountingOperation()
            operation.addCondition(FailingCondition())
            operation.addObserver(CountingObserver())
            return operation
          }
        },
      ]
    }
  }

  private static func attached(conditions: Int, observers: Int) -> CountingOperation {
    let operation = CountingOperation()
    for _ in 0..<conditions { operation.addCondition(HoldingCondition()) }
    for _ in 0..<observers { operation.addObserver(CountingObserver()) }
    return operation
  }
}

/// Holds at once.
struct HoldingCondition: ImmediateCondition {
  func check(_ operation: AdvancedOperation) -> OperationConditionResult { .satisfied }
}

/// Fails at once.
struct FailingCondition: ImmediateCondition {
  struct Failure: Error {}

  func check(_ operation: AdvancedOperation) -> OperationConditionResult { .failed(Failure()) }
}

/// Counts the ends that it sees.
struct CountingObserver: OperationObserver {
  func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    RunCount.add()
  }
}
