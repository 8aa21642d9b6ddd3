import AdvancedOperations
import CoreOperations

extension FeatureWorkload {
  /// Conditions of several kinds, beside the simplest one.
  static let conditions = FeatureWorkload("conditions", "what conditions of each kind cost") {
    size in
    [
      Lane("1 condition", operations: size) { _ in run(size) { HoldingCondition() } },
      Lane("a && b", operations: size) { _ in
        run(size) { HoldingCondition() && HoldingCondition() }
      },
      Lane("a || !b", operations: size) { _ in
        run(size) { FailingCondition() || !FailingCondition() }
      },
      Lane("SilentCondition", operations: size) { _ in
        run(size) { SilentCondition(HoldingCondition()) }
      },
      Lane("CircuitClosed", operations: size) { _ in
        let breaker = CircuitBreaker(failures: 1)
        run(size) {
          let operation = CountingOperation()
          operation.addCondition(CircuitClosed(breaker))
          operation.addObserver(breaker)
          return operation
        }
      },
      Lane("FileExists", operations: size) { _ in run(size) { FileExists("/") } },
      Lane("FreeSpace", operations: size) { _ in run(size) { FreeSpace(atLeast: 1, at: "/") } },
      Lane("a prerequisite", operations: size, expectedRuns: 2 * size) { _ in
        run(size) { ConditionWithPrerequisite() }
      },
      Lane("a condition skips", operations: size, expectedRuns: 0) { _ in
        run(size) { SkippingCondition() }
      },
    ]
  }

  /// One operation that waits for all others, with what looks at how they ended.
  static let fanIn = FeatureWorkload("fan-in", "one waits for all, and looks how they ended") {
    size in
    [
      Lane("no condition", operations: size, expectedRuns: size + 1) { _ in try fanIn(size) },
      Lane("NoFailedDependencies", operations: size, expectedRuns: size + 1) { _ in
        try fanIn(size, NoFailedDependencies())
      },
      Lane("DependencyRule", operations: size, expectedRuns: size + 1) { _ in
        try fanIn(size, DependencyRule.allSucceeded)
      },
      Lane("a rule of one's own", operations: size, expectedRuns: size + 1) { _ in
        try fanIn(
          size,
          DependencyRule("most succeeded") { outcomes in
            if outcomes.contains(where: { $0 == nil }) { return .undecided }
            return 2 * outcomes.count { $0?.failure == nil } > outcomes.count ? .satisfied : .broken
          }
        )
      },
      Lane("a broken rule", operations: size, expectedRuns: size) { _ in
        try fanIn(size, DependencyRule.allSucceeded, failing: true)
      },
    ]
  }

  private static func run(_ size: Int, _ condition: () -> any OperationCondition) {
    run(size) {
      let operation = CountingOperation()
      operation.addCondition(condition())
      return operation
    }
  }

  /// The one that waits comes first into the queue, so that it is there while the others end.
  private static func fanIn(
    _ size: Int,
    _ condition: (any OperationCondition)? = nil,
    failing: Bool = false
  ) throws {
    let queue = CoreOperations.OperationQueue()
    let last = CountingOperation()
    if let condition { last.addCondition(condition) }
    let others = (0..<size).map { node in
      failing && node == 0 ? FailingOperation() : CountingOperation()
    }
    for operation in others { last.addDependency(operation) }
    queue.addOperation(last)
    queue.addOperations(others)
    queue.waitUntilAllOperationsAreFinished()
    let isFailed = if case .failed = last.outcome { true } else { false }
    guard isFailed == failing, last.isFinished else {
      throw WrongResult(description: "the last one ended as \(String(describing: last.outcome))")
    }
  }
}

/// Needs another operation first.
private struct ConditionWithPrerequisite: ImmediateCondition {
  func dependency(for operation: AdvancedOperation) -> AdvancedOperation? { CountingOperation() }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult { .satisfied }
}

/// Says that there is nothing to do.
private struct SkippingCondition: ImmediateCondition {
  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    .skipped(reason: "nothing to do")
  }
}
