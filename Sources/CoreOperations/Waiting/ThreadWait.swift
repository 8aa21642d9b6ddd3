import Dispatch
import Synchronization

/// The wait of one thread, which ends once.
///
/// A thread that sleeps costs two switches and, where its processor has gone to sleep meanwhile, as
/// much as a hundred empty operations until it comes up again. So it watches for the end for a
/// moment first, as long as that has paid off before.
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

  /// Watches for the end for a moment, and notes whether it came.
  private func isOverSoon() -> Bool {
    guard let time = WatchHistory.shared.nextTime() else { return isOver }
    let end = MonotonicClock.nanoseconds + time
    repeat {
      if isOver {
        WatchHistory.shared.note(hasPaidOff: true)
        return true
      }
    } while MonotonicClock.nanoseconds < end
    WatchHistory.shared.note(hasPaidOff: false)
    return false
  }

  private var isOver: Bool { state.load(ordering: .acquiring) == Self.over }
}

/// Whether threads of this process that watched for an end saw it.
private struct WatchHistory: ~Copyable, Sendable {
  static let shared = WatchHistory()

  /// 0 after a success, and one more for each failure since. A hint: of two threads that write at
  /// the same time, one is forgotten.
  private let failures = Atomic<UInt32>(0)
  private let isUseful = Processors.available > 1

  /// How long to watch; nil for not at all.
  func nextTime() -> Int64? {
    guard isUseful else { return nil }
    let failures = failures.load(ordering: .relaxed)
    if failures < 3 || failures % 16 == 0 { return 4_000 }
    self.failures.store(failures &+ 1, ordering: .relaxed)
    return nil
  }

  func note(hasPaidOff: Bool) {
    let next = hasPaidOff ? 0 : failures.load(ordering: .relaxed) &+ 1
    failures.store(next, ordering: .relaxed)
  }
}
