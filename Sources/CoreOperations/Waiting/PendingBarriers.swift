import Synchronization

/// The barriers of this process that have not run, and whether one of them may be part of a cycle.
///
/// A cycle through barriers contains an operation that is behind one and that another operation
/// needs (what only barriers make wait are the operations behind them, in the order of their
/// queue). While no such operation has been seen, no other operation has to look for a cycle
/// because of barriers.
enum PendingBarriers {
  /// Twice the number of barriers, and 1 more when a needed operation was seen behind one.
  private static let word = Atomic<Int>(0)

  static var isEmpty: Bool { !isInterruptible && word.load(ordering: .sequentiallyConsistent) < 2 }

  static var mayBeInCycle: Bool {
    isInterruptible || word.load(ordering: .sequentiallyConsistent) & 1 == 1
  }

  static func began() { word.add(2, ordering: .sequentiallyConsistent) }

  static func ended() {
    var old = word.load(ordering: .relaxed)
    while true {
      // The last one takes with it what was seen.
      let new = old < 4 ? 0 : old - 2
      let (isDone, current) = word.weakCompareExchange(
        expected: old,
        desired: new,
        ordering: .sequentiallyConsistent
      )
      if isDone { return }
      old = current
    }
  }

  /// An operation that another one needs is behind a barrier.
  static func neededOneIsBehind() { word.bitwiseOr(1, ordering: .sequentiallyConsistent) }
}
