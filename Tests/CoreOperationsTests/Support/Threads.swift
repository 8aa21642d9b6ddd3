import CoreOperations
import Dispatch
import TestSupport

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// Runs a body that may block on a thread of its own, so that it keeps none of the threads that
/// tasks run on.
///
/// - Parameters:
///   - stackSize: In bytes; nil for what the system gives.
///   - body: May block.
/// - Returns: What the body returned.
func onThread<Result: Sendable>(
  stackSize: Int? = nil,
  _ body: @escaping @Sendable () -> Result
) async -> Result { await Threads.run(stackSize: stackSize, body) }

/// Starts a thread that nobody joins.
func launchThread(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
  Threads.launch(stackSize: stackSize, body)
}

/// Runs a short body, which waits for nobody, on one of four threads that cost nothing to start.
///
/// Not Dispatch: its threads are those that tasks run on.
func launchThreadFromPool(_ body: @escaping @Sendable () -> Void) { Prerequisites.shared.run(body) }

private final class Prerequisites: Sendable {
  static let shared = Prerequisites()
  private let line = Locked<[@Sendable () -> Void]>([])
  private let waiting = DispatchSemaphore(value: 0)

  private init() {
    for _ in 0..<4 {
      launchThread {
        while true {
          self.waiting.wait()
          self.line.withLock { $0.removeFirst() }()
        }
      }
    }
  }

  func run(_ body: @escaping @Sendable () -> Void) {
    line.withLock { $0.append(body) }
    waiting.signal()
  }
}

/// Identifies the calling thread.
func threadID() -> UInt {
  #if canImport(Darwin) || canImport(Musl)
  unsafe UInt(bitPattern: pthread_self())
  #else
  UInt(pthread_self())
  #endif
}

/// Blocks the calling thread for some time.
func sleepForMicroseconds(_ count: UInt32) { usleep(count) }

/// What the calling thread has computed so far, in nanoseconds.
func computedByThread() -> Int64 {
  var time = timespec()
  unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
