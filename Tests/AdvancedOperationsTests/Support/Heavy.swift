import TestSupport
import Testing

/// For tests that keep all processors busy: one of them runs at a time, beside all others.
struct Heavy: TestTrait, SuiteTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @Sendable @concurrent () async throws -> Void
  ) async throws { try await HeavyTests.inTurn(function) }
}

extension Trait where Self == Heavy {
  static var heavy: Self { Heavy() }
}
