import TestSupport
import Testing

/// Ends the process when tests hang, and says which ones and what the last listing has printed.
///
/// They hang when the process stands still for two minutes. It synchronises nothing.
struct Watched: SuiteTrait, TestTrait, TestScoping {
  private static let monitor: Void = Threads.launch {
    RunningTests.watch(for: 120) { tests in
      "These tests hang: \(tests.joined(separator: "; "))\nPrinted: \(Stage.current.lines)"
    }
  }

  /// Whether each test gets a stage of its own; for tests that run one at a time.
  fileprivate var givesStage = false

  var isRecursive: Bool { true }

  func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    _ = Self.monitor
    if givesStage { Stage.current = Stage() }
    try await RunningTests.note("\(test.id)", function)
  }
}

extension Trait where Self == Watched {
  static var watched: Self { Watched() }
  static var staged: Self { Watched(givesStage: true) }
}
