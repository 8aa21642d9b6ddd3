/// The waiters for the end of something, an operation or all of a queue, blocking a thread or not.
///
/// A closure gets what has ended, which the caller of ``wakeAll(_:)`` keeps alive meanwhile: a
/// closure that kept it would be kept by it, and one that didn't could find it gone.
package struct WaitList<Ended> {
  package enum Waiter {
    case thread(ThreadWait)
    case task(AsyncWait)
    case closure(@Sendable (Ended) -> Void)
    case removable(RemovableClosure<Ended>)

    fileprivate var hasGivenUp: Bool {
      switch self {
      case .thread, .closure: false
      case .task(let wait): wait.hasEnded
      case .removable(let closure): closure.isOver
      }
    }
  }

  private var waiters: [Waiter] = []
  private var cancelledCount = 0

  package init() {}

  package var isEmpty: Bool { waiters.allSatisfy { $0.hasGivenUp } }
  /// Whether there is anything to let go of, if only of waits that were cancelled.
  package var isInUse: Bool { !waiters.isEmpty }

  package mutating func append(_ waiter: Waiter) { waiters.append(waiter) }

  /// A task gave up, or a closure was removed.
  ///
  /// Those that did are removed together, once they are the majority. Their number says only when
  /// to look for them: one that is removed with others may report itself afterwards.
  ///
  /// - Complexity: O(1), amortised.
  package mutating func waitCancelled() {
    cancelledCount += 1
    guard cancelledCount * 2 > waiters.count else { return }
    cancelledCount = 0
    waiters.removeAll { $0.hasGivenUp }
  }

  /// Wakes all waiters; called without a lock held.
  package func wakeAll(_ ended: Ended) {
    for waiter in waiters {
      switch waiter {
      case .thread(let wait): wait.finish()
      case .task(let wait): wait.finish()
      case .closure(let body): body(ended)
      case .removable(let closure): closure.call(ended)
      }
    }
  }
}
