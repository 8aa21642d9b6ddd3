import AdvancedOperations
import CoreOperations
import Synchronization

extension FeatureWorkload {
  /// What runs again, beside as many operations that run once.
  static let rounds = FeatureWorkload("rounds", "what is tried again, repeated, delayed") { size in
    [
      Lane("Advanced", operations: size) { _ in
        try runBatch((0..<size).map { _ in CountingOperation() })
      },
      Lane("RetryOperation of 4", operations: size) { _ in
        try runBatch(fours(size).map { retrying($0) })
      },
      Lane("retry: of 4", operations: size) { _ in
        try runBatch(fours(size).map { retryingBody($0) })
      },
      // Each with timers that are cancelled.
      Lane("retry: of 4, limits", operations: size) { _ in
        try runBatch(
          fours(size).map { attempts in
            retryingBody(
              attempts,
              RetryPolicy.immediate.attempts(attempts)
                .totalTimeout(.seconds(3_600)).attemptTimeout(.seconds(60))
            )
          }
        )
      },
      Lane("one RepeatOperation", operations: size) { _ in try runBatch([repeating(size)]) },
      Lane("RepeatOperation of 4", operations: size) { _ in
        try runBatch(fours(size).map { repeating($0) })
      },
      Lane("DelayOperation", operations: size, expectedRuns: 0) { _ in
        try runBatch((0..<size).map { _ in DelayOperation(.nanoseconds(1)) })
      },
    ]
  }

  /// Fails, until the last attempt.
  private static func retrying(_ attempts: Int) -> RetryOperation<Void> {
    RetryOperation(retry: .immediate.attempts(attempts)) { attempt in
      attempt < attempts ? FailingOperation() : CountingOperation()
    }
  }

  private static func retryingBody(
    _ attempts: Int,
    _ policy: RetryPolicy? = nil
  ) -> ResultOperation<Void> {
    let counter = AttemptCounter()
    return ResultOperation(retry: policy ?? .immediate.attempts(attempts)) {
      RunCount.add()
      if counter.next() < attempts { throw FailingOperation.Failure() }
    }
  }

  private static func repeating(_ rounds: Int) -> RepeatOperation<Void> {
    RepeatOperation(times: rounds) { _ in CountingOperation() }
  }
}

private final class AttemptCounter: Sendable {
  private let count = Atomic(0)

  func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}
