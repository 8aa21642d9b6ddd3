import TestSupport
package import Testing

/// For tests that keep all processors busy: one of them runs at a time, beside all others.
package struct Heavy: TestTrait, SuiteTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @Sendable @concurrent () async throws -> Void
  ) async throws { try await HeavyTests.inTurn(function) }
}

extension Trait where Self == Heavy {
  package static var heavy: Self { Heavy() }
}
