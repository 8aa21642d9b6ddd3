import CoreOperations
import Dispatch

/// Which tests run, and whether they hang: whether none has begun or ended for too long.
///
/// It synchronises nothing.
package enum RunningTests {
  private struct State {
    /// How many cases of each test.
    var cases: [String: Int] = [:]
    var lastChange: UInt64 = 0
  }

  private static let state = Locked(State())

  /// Takes note of a test while it runs.
  package static func note(
    _ test: String,
    _ body: @Sendable @concurrent () async throws -> Void
  ) async throws {
    change { $0[test, default: 0] += 1 }
    defer { change { $0[test] = ($0[test] ?? 1) > 1 ? ($0[test] ?? 1) - 1 : nil } }
    try await body()
  }

  /// Looks every second, and ends the process when tests hang.
  ///
  /// - Parameters:
  ///   - seconds: For how long nothing may happen.
  ///   - report: Gets the tests that run; returns what to say.
  package static func watch(for seconds: UInt64, _ report: ([String]) -> String) -> Never {
    while true {
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .seconds(1))
      let now = DispatchTime.now().uptimeNanoseconds
      let late = state.withLock { state in
        now > state.lastChange + seconds * 1_000_000_000 ? state.cases.keys.sorted() : []
      }
      if !late.isEmpty { fatalError(report(late)) }
    }
  }

  private static func change(_ body: (inout [String: Int]) -> Void) {
    let now = DispatchTime.now().uptimeNanoseconds
    state.withLock { state in
      body(&state.cases)
      state.lastChange = now
    }
  }
}
