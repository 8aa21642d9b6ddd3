import CoreOperations

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// Which tests run, and whether they hang: whether none has begun or ended, and nothing else goes
/// on.
///
/// It synchronises nothing.
package enum RunningTests {
  private struct State {
    /// How many cases of each test.
    var cases: [String: Int] = [:]
    var eventCount = 0
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

  /// Takes note that a test has got somewhere.
  package static func progress() { change { _ in } }

  private static func change(_ body: (inout [String: Int]) -> Void) {
    state.withLock { state in
      body(&state.cases)
      state.eventCount += 1
    }
  }

  /// Looks every second, and ends the process when tests hang.
  ///
  /// - Parameters:
  ///   - seconds: At how many looks in a row the process has to have stood still, without using a
  ///     processor; or a tenth of what it may compute between two events. Neither passes faster
  ///     when other programs keep the processors busy.
  ///   - report: Gets the tests that run; returns what to say.
  package static func watch(for seconds: Int, _ report: ([String]) -> String) -> Never {
    var standstill = Standstill(seconds: seconds)
    while true {
      sleep(1)
      let (tests, eventCount) = state.withLock { ($0.cases.keys.sorted(), $0.eventCount) }
      let isLate = standstill.looked(at: eventCount, processorTime: processorTime())
      if isLate && !tests.isEmpty { fatalError(report(tests)) }
    }
  }

  /// What the process has computed so far, in nanoseconds.
  package static func processorTime() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

/// How long something has taken, while a process that computes something else passes time slowly.
///
/// A test that waits for its turn behind a thousand others isn't hanging; nor is one that other
/// programs keep from the processors.
package struct Patience {
  private let limit: Int
  private var used = 0
  private var timeAtLook = RunningTests.processorTime()

  /// - Parameter seconds: How long a process may stand still; ten times as long if it computes.
  package init(seconds: Int) { limit = 100 * seconds }

  /// Begins anew.
  package mutating func reset() { used = 0 }

  /// Looks, every tenth of a second.
  ///
  /// - Returns: Whether the time is over.
  package mutating func looked() -> Bool {
    let time = RunningTests.processorTime()
    used += time - timeAtLook > 10_000_000 ? 1 : 10
    timeAtLook = time
    return used > limit
  }
}

/// Whether a process that is looked at every second stands still.
package struct Standstill {
  private let seconds: Int
  private var eventCount = 0
  private var timeAtEvent: Int64 = 0
  private var timeAtLook: Int64 = 0
  private var idleLooks = 0

  package init(seconds: Int) { self.seconds = seconds }

  /// - Parameters:
  ///   - eventCount: How much has happened.
  ///   - processorTime: What the process has computed so far, in nanoseconds.
  /// - Returns: Whether it has stood still, or has computed without an event, for too long.
  package mutating func looked(at eventCount: Int, processorTime: Int64) -> Bool {
    if eventCount != self.eventCount {
      self.eventCount = eventCount
      timeAtEvent = processorTime
      idleLooks = 0
    } else if processorTime - timeAtLook < 10_000_000 {
      idleLooks += 1
    } else {
      idleLooks = 0
    }
    timeAtLook = processorTime
    return idleLooks >= seconds || processorTime - timeAtEvent > 10 * Int64(seconds) * 1_000_000_000
  }
}
