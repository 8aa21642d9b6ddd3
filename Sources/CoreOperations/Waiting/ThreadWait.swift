import Dispatch
import Synchronization

/// The wait of one thread, which ends once.
///
/// A thread that sleeps costs two switches and, where its processor has gone to sleep meanwhile, as
/// much as a hundred empty operations until it comes up again. So it watches for the end for a
/// moment first, where that has paid off before (``WatchHistory``).
package final class ThreadWait: Sendable {
  private static let watching: UInt8 = 0
  private static let asleep: UInt8 = 1
  private static let over: UInt8 = 2

  private let state = Atomic(watching)
  private let semaphore = DispatchSemaphore(value: 0)

  package init() {}

  /// Ends the wait; what was done before is visible to the thread that waits.
  package func finish() {
    if state.exchange(Self.over, ordering: .acquiringAndReleasing) == Self.asleep {
      semaphore.signal()
    }
  }

  /// Blocks the thread until the wait has ended.
  package func block() {
    if isOverSoon() { return }
    let (isAsleep, _) = state.compareExchange(
      expected: Self.watching,
      desired: Self.asleep,
      ordering: .acquiringAndReleasing
    )
    if isAsleep { semaphore.wait() }
  }

  /// Watches for the end for a moment, if that is worthwhile, and notes whether it came.
  private func isOverSoon() -> Bool {
    guard WatchHistory.nextOfProcess() else { return isOver }
    let end = MonotonicClock.nanoseconds + WatchHistory.nanoseconds
    repeat {
      if isOver {
        WatchHistory.change { $0.note(hasPaidOff: true) }
        return true
      }
    } while MonotonicClock.nanoseconds < end
    WatchHistory.change { $0.note(hasPaidOff: false) }
    return false
  }

  private var isOver: Bool { state.load(ordering: .acquiring) == Self.over }
}
