package import Dispatch

/// Those who wait for an operation or a queue, blocking a thread or not.
package struct WaitList {
  package enum Waiter {
    case thread(DispatchSemaphore)
    case task(AsyncWait)
    case closure(@Sendable () -> Void)
  }

  private var waiters: [Waiter] = []
  private var cancelledCount = 0

  package init() {}

  package var isEmpty: Bool { waiters.count == cancelledCount }
  /// Whether there is anything to let go of, if only of those who gave up.
  package var isInUse: Bool { !waiters.isEmpty }

  package mutating func append(_ waiter: Waiter) { waiters.append(waiter) }

  /// A task gave up.
  ///
  /// Those that did are removed together, once they are the majority.
  ///
  /// - Complexity: O(1), amortised.
  package mutating func waitCancelled() {
    cancelledCount += 1
    guard cancelledCount * 2 > waiters.count else { return }
    cancelledCount = 0
    waiters.removeAll {
      switch $0 {
      case .thread, .closure: false
      case .task(let wait): wait.hasEnded
      }
    }
  }

  /// Wakes everyone; called without a lock held.
  package func wakeAll() {
    for waiter in waiters {
      switch waiter {
      case .thread(let semaphore): semaphore.signal()
      case .task(let wait): wait.finish()
      case .closure(let body): body()
      }
    }
  }
}
