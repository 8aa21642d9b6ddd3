import Dispatch

/// Those who wait for an operation or a queue, blocking a thread or not.
struct WaitList {
  enum Waiter {
    case thread(DispatchSemaphore)
    case task(AsyncWait)
    case closure(@Sendable () -> Void)
  }

  private var waiters: [Waiter] = []

  mutating func append(_ waiter: Waiter) { waiters.append(waiter) }

  mutating func remove(_ wait: AsyncWait) {
    waiters.removeAll {
      switch $0 {
      case .thread, .closure: false
      case .task(let other): other === wait
      }
    }
  }

  /// Wakes everyone; called without a lock held.
  func wakeAll() {
    for waiter in waiters {
      switch waiter {
      case .thread(let semaphore): semaphore.signal()
      case .task(let wait): wait.finish()
      case .closure(let body): body()
      }
    }
  }
}
