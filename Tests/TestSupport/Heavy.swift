import CoreOperations
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

/// Lets tests run one after the other, whichever suites they are in: those that keep all processors
/// busy.
private enum HeavyTests {
  private struct State {
    var isTaken = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private static let state = Locked(State())

  /// Runs a test when it is its turn, without keeping a thread until then.
  static func inTurn(
    _ body: @Sendable @concurrent () async throws -> Void
  ) async throws {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.isTaken { state.waiting.append(continuation) }
        defer { state.isTaken = true }
        return !state.isTaken
      }
      if isFree { continuation.resume() }
    }
    defer {
      let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
        guard !state.waiting.isEmpty else {
          state.isTaken = false
          return nil
        }
        return state.waiting.removeFirst()
      }
      next?.resume()
    }
    try await body()
  }
}
