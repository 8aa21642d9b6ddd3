import Foundation
import TestSupport

// The names that the listings use. In this module they hide those of the standard library and of
// Foundation, so that the listings stay as they were written.

/// Keeps the line for the test.
func print(_ items: Any...) {
  Stage.current.print(items.map { "\($0)" }.joined(separator: " "))
}

/// A thread as the listings print it: `<Thread 0x…>`.
struct Thread: CustomStringConvertible {
  /// The thread that calls.
  static var current: Thread { Thread(number: currentThreadNumber()) }

  /// Sleeps until the test lets the time pass.
  static func sleep(forTimeInterval seconds: Double) { Stage.current.sleep(for: seconds) }

  let number: UInt

  var description: String { "<Thread 0x\(String(number, radix: 16))>" }
}

private func currentThreadNumber() -> UInt {
  #if canImport(Darwin)
  UInt(bitPattern: pthread_self())
  #else
  UInt(pthread_self())
  #endif
}

/// Runs a body that may block on a thread of its own.
func onThread<Result>(_ body: @escaping @Sendable () -> Result) async -> Result {
  await withCheckedContinuation { continuation in
    Foundation.Thread.detachNewThread { continuation.resume(returning: body()) }
  }
}
