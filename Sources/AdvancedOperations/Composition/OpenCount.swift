import CoreOperations

/// How many have not ended, and who waits until all have; a plain value behind a lock.
struct OpenCount {
  private(set) var count = 0
  private var waiter: CheckedContinuation<Void, Never>?

  init() {}

  mutating func add(_ number: Int = 1) { count += number }

  /// One has ended; returns the continuation to resume after unlocking.
  mutating func ended() -> CheckedContinuation<Void, Never>? {
    count -= 1
    return count == 0 ? waiter.take() : nil
  }

  /// Keeps who waits; returns false, and doesn't, when there is nothing to wait for.
  fileprivate mutating func keep(_ waiter: CheckedContinuation<Void, Never>) -> Bool {
    if count > 0 { self.waiter = waiter }
    return count > 0
  }
}

extension Locked {
  /// Waits until all have ended, also in a cancelled task; one at a time.
  borrowing func untilAllEnded(_ open: WritableKeyPath<Value, OpenCount>) async {
    await withCheckedContinuation { continuation in
      if !withLock({ $0[keyPath: open].keep(continuation) }) { continuation.resume() }
    }
  }
}
