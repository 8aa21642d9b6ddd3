import AdvancedOperations
import Dispatch
import Testing

/// Ends the process when a test hangs, and says which one.
///
/// It synchronises nothing.
struct Watchdog: TestTrait, SuiteTrait, TestScoping {
  private static let limit: UInt64 = 120_000_000_000
  private static let running = Locked<[String: UInt64]>([:])
  private static let monitor: Void = DispatchQueue(label: "watchdog").async {
    while true {
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .seconds(1))
      let now = DispatchTime.now().uptimeNanoseconds
      let late = running.withLock { running in
        running.filter { now > $0.value && now - $0.value > limit }.keys.sorted()
      }
      if !late.isEmpty { fatalError("These tests hang: \(late.joined(separator: "; "))") }
    }
  }

  var isRecursive: Bool { true }

  func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    _ = Self.monitor
    let key = "\(test.id)"
    Self.running.withLock { $0[key] = DispatchTime.now().uptimeNanoseconds }
    defer { _ = Self.running.withLock { $0.removeValue(forKey: key) } }
    try await function()
  }
}

extension Trait where Self == Watchdog {
  static var watched: Self { Watchdog() }
}
