import TestSupport
import Testing

/// Ends the process when tests hang, and says which ones.
///
/// They hang when the process stands still for two minutes. It synchronises nothing.
struct Watchdog: TestTrait, SuiteTrait, TestScoping {
  private static let monitor: Void = launchThread {
    RunningTests.watch(for: 120) { "These tests hang: \($0.joined(separator: "; "))" }
  }

  var isRecursive: Bool { true }

  func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    _ = Self.monitor
    try await RunningTests.note("\(test.id)", function)
  }
}

extension Trait where Self == Watchdog {
  static var watched: Self { Watchdog() }
}
