import Dispatch
import Synchronization

/// The waiters for the end of an operation or a queue, which may block a thread or not.
///
/// A closure receives the ended object, which the caller of ``wakeAll(_:)`` keeps alive during the call. A
/// closure that retained the object itself would create a reference cycle. A closure that didn't retain it
/// could find it deallocated.
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
  /// A Boolean value that indicates whether there are waiters to release, including cancelled waits.
  package var isInUse: Bool { !waiters.isEmpty }

  package mutating func append(_ waiter: Waiter) { waiters.append(waiter) }

  /// Records that a task stopped waiting, or that a closure was removed.
  ///
  /// Such waiters are removed together, once they are the majority. Their count only decides when to search
  /// for them, because a waiter that was removed with others may report itself afterwards.
  ///
  /// - Complexity: O(1), amortized.
  package mutating func waitCancelled() {
    cancelledCount += 1
    guard cancelledCount * 2 > waiters.count else { return }
    cancelledCount = 0
    waiters.removeAll { $0.hasGivenUp }
  }

  /// Wakes all waiters; called while no lock is held.
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
/// A thread that sleeps costs two context switches. If its processor has gone to sleep in the meantime,
/// waking it costs as much as a hundred empty operations. So the thread first watches for the end for a
/// moment, if that was successful before (``WatchHistory``).
package final class ThreadWait: Sendable {
  private static let watching: UInt8 = 0
  private static let asleep: UInt8 = 1
  private static let over: UInt8 = 2

  private let state = Atomic(watching)
  private let semaphore = DispatchSemaphore(value: 0)

  package init() {}

  /// Ends the wait.
  ///
  /// Earlier memory writes are visible to the thread that waits.
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

  /// Watches for the end for a moment, if that is worthwhile, and records whether the end came.
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

/// The wait of one task, which ends once, by the awaited event or by the task's cancellation.
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

  /// Ends the wait with an error, unless it has ended.
  package func end(with error: (any Error)?) {
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
  ///   - register: A closure that is called once before the task suspends, unless the task is cancelled
  ///     already. The closure returns false if there is no need to wait.
  ///   - unregister: A closure that is called if the task was cancelled while it waited.
  /// - Throws: `CancellationError` if the task was cancelled first.
  package func run(
    register: @Sendable (AsyncWait) -> Bool,
    unregister: @escaping @Sendable (AsyncWait) -> Void = { _ in }
  ) async throws {
    try Task.checkCancellation()
    guard register(self) else { return }
    try await withTaskCancellationHandler {
      try await suspend()
    } onCancel: {
      // The runtime holds a lock of the task here.
      uninterrupted {
        cancel()
        unregister(self)
      }
    }
  }

  /// Suspends the task until ``finish()`` was called, even if the task is cancelled.
  func untilFinished() async {
    // Only `cancel()` ends it with an error, and nothing calls that here.
    try? await suspend()
  }

  private func suspend() async throws {
    try await withCheckedThrowingContinuation { continuation in
      let result = state.withLock { state -> Result<Void, any Error>? in
        switch state {
        case .fresh:
          state = .suspended(continuation)
          return nil
        case .suspended: internalError("a task began the same wait twice")
        case .ended(nil): return .success(())
        case .ended(let error?): return .failure(error)
        }
      }
      if let result { continuation.resume(with: result) }
    }
  }
}
