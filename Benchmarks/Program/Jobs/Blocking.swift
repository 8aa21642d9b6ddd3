import Dispatch
import Foundation

/// What blocks the calling thread.
enum Blocking {
  /// Sleeps, by the clock.
  static func sleep(_ duration: Duration) {
    Thread.sleep(forTimeInterval: duration.seconds)
  }

  /// Runs a task and waits for its end; not to be called from one.
  static func run(_ body: @escaping @Sendable () async -> Void) {
    let end = DispatchSemaphore(value: 0)
    Task.detached {
      await body()
      end.signal()
    }
    end.wait()
  }
}
