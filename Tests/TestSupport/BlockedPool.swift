import Dispatch
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// The pool of the standard library while others block all of its threads.
///
/// For a process of its own: no test could go on beside it.
package final class BlockedPool: Sendable {
  private let release = DispatchSemaphore(value: 0)
  private let threadCount = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
  private let hasThread = Atomic(false)

  /// Returns when all threads are blocked; to be called on a thread that isn't one of them.
  package init() {
    let blocked = DispatchSemaphore(value: 0)
    for _ in 0..<threadCount {
      Task.detached { [release] in
        blocked.signal()
        Self.block(on: release)
      }
    }
    for _ in 0..<threadCount { blocked.wait() }
    Task.detached { self.hasThread.store(true, ordering: .relaxed) }
  }

  /// Whether no other task has got a thread of the pool so far.
  package var isHeld: Bool { !hasThread.load(ordering: .relaxed) }

  /// Lets the pool go on.
  package func end() {
    for _ in 0..<threadCount { release.signal() }
  }

  private static func block(on semaphore: DispatchSemaphore) { semaphore.wait() }
}
