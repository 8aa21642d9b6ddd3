import Dispatch
import Synchronization

/// The waiters for the end of something, an operation or all of a queue, blocking a thread or not.
///
/// A closure gets what has ended, which the caller of ``wakeAll(_:)`` keeps alive meanwhile: a
/// closure that kept it would be kept by it, and one that didn't could find it gone.
package struct WaitList<Ended> {
  package enum Waiter {
    case thread(ThreadWait)
    case task(AsyncWait)
    case closure(@Sendable (Ended) -> Void)
    case removable(RemovableClosure<@Sendable (Ended) -> Void>)

    fileprivate var hasGivenUp: Bool {
      switch self {
      case .thread, .closure: false
      case .task(let wait): wait.hasEnded
      case .removable(let closure): closure.isTaken
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
      case .removable(let closure): closure.take()?.call(ended)
      }
    }
  }
}

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

/// The wait of one task, which ends once: by what it waits for or by the task's cancellation.
package final class AsyncWait: Sendable {
  private enum State {
    case fresh
    case suspended(CheckedContinuation<Void, any Error>)
    case ended((any Error)?)
  }

  private let state = Locked(State.fresh)

  package init() {}

  package var hasEnded: Bool {
    state.withLock { state in
      switch state {
      case .fresh, .suspended: false
      case .ended: true
      }
    }
  }

  package func finish() { end(with: nil) }

  package func cancel() { end(with: CancellationError()) }

  private func end(with error: (any Error)?) {
    let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      switch state {
      case .fresh:
        state = .ended(error)
        return nil
      case .suspended(let continuation):
        state = .ended(error)
        return continuation
      case .ended: return nil
      }
    }
    guard let continuation else { return }
    if let error { continuation.resume(throwing: error) } else { continuation.resume() }
  }

  /// Suspends the task until the wait has ended.
  ///
  /// - Parameters:
  ///   - register: Called once, before suspending, unless the task is cancelled already. Returns
  ///     false when there is nothing to wait for.
  ///   - unregister: Called when the task was cancelled while it waited.
  /// - Throws: `CancellationError` when the task was cancelled first.
  package func run(
    register: @Sendable (AsyncWait) -> Bool,
    unregister: @escaping @Sendable (AsyncWait) -> Void
  ) async throws {
    try Task.checkCancellation()
    guard register(self) else { return }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result = state.withLock { state -> Result<Void, any Error>? in
          switch state {
          case .fresh:
            state = .suspended(continuation)
            return nil
          case .suspended: trap("one wait was begun twice")
          case .ended(nil): return .success(())
          case .ended(let error?): return .failure(error)
          }
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      // The runtime holds a lock of the task here.
      uninterrupted {
        cancel()
        unregister(self)
      }
    }
  }
}
