package import AdvancedOperations
import Dispatch
import TestSupport
package import Testing

/// Ends the process when tests hang, and says which ones and what their queues wait for.
///
/// They hang when the process stands still for a minute. It synchronises nothing.
package struct Watchdog: TestTrait, SuiteTrait, TestScoping {
  #if SANITIZE_THREAD
  private static let seconds: Int = 600
  #else
  private static let seconds: Int = 60
  #endif
  private static let monitor: Void = {
    Threads.launch { watch(for: seconds) }
  }()

  package static func watch(for seconds: Int) -> Never {
    RunningTests.watch(for: seconds) { report($0, seconds) }
  }

  /// What hangs may be a lock that an explanation needs, so that is not waited for for long.
  private static func report(_ tests: [String], _ seconds: Int) -> String {
    let explanations = Locked("\nNo explanations: a lock seems to be held.")
    let isDone = DispatchSemaphore(value: 0)
    Threads.launch {
      let text = WatchedQueues.explanations.map { "\n\($0)" }.joined()
      explanations.withLock { $0 = text }
      isDone.signal()
    }
    _ = isDone.wait(timeout: .now() + .seconds(5))
    let names = tests.joined(separator: "; ")
    return "Tests have stood still for \(seconds) s. These hang: \(names)"
      + explanations.withLock { $0 }
  }

  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    _ = Self.monitor
    try await RunningTests.note("\(test.id)", function)
  }
}

extension Trait where Self == Watchdog {
  package static var watched: Self { Watchdog() }
}

/// The queues that the watchdog explains when tests hang; it doesn't keep them alive.
package enum WatchedQueues {
  private struct Reference: Sendable {
    weak let queue: AdvancedOperationQueue?
  }

  private static let references = Locked<[Reference]>([])

  package static func add(_ queue: AdvancedOperationQueue) {
    let reference = Reference(queue: queue)
    uninterrupted { references.withLock { $0.append(reference) } }
  }

  /// The explanations of those that have operations.
  package static var explanations: [OperationExplanation] {
    references.withLock { $0 }.compactMap(\.queue).filter { $0.operationCount > 0 }.map {
      $0.explain()
    }
  }
}
