/// Whether a worker should leave its thread to others before its share is used up.
///
/// A share is a number of operations, however slow they are. On the shared pool, a worker leaves
/// when another request waits for its thread. Dispatch doesn't tell whether others wait, so a
/// worker leaves a dispatch queue after ``DispatchExecutor/longestTurn``.
struct WorkerTurn {
  /// When the turn on a dispatch queue ends.
  private let end: Int64?

  #if os(Linux) || os(Android)
  private let thread: PoolThread?
  private let pool: ElasticThreadPool?

  /// Begins a turn on this thread.
  ///
  /// Only the share ends it on an executor of another kind.
  init(on source: WorkerSource) {
    pool = source.pool
    thread = pool == nil ? nil : PoolThread.current.value
    end = Self.end(on: source.executor)
  }

  var isOver: Bool {
    if let thread { return thread.isWanted }
    return isLate
  }

  /// Whether the thread is one of the shared pool, of which there are more when some are blocked.
  var isInSharedPool: Bool { thread != nil }

  /// Whether to look out for work for a moment before the thread is given back.
  ///
  /// Waking a thread costs as much as 40 empty operations, so a queue that is fed one by one lost
  /// most of its time to threads that fell asleep between two.
  ///
  /// On one processor, the thread that brings more work can't run meanwhile.
  var mayLinger: Bool {
    Processors.areSeveral && (thread.map { $0.lingerTime.nanoseconds > 0 } ?? false)
  }

  /// Returns when there is news, when a request waits for a thread, or when that has taken longer
  /// than it is worth.
  func linger(until hasNews: () -> Bool) {
    guard let thread, let pool else { return }
    let end = MonotonicClock.nanoseconds + thread.lingerTime.nanoseconds
    while !hasNews(), !isOver, !pool.hasRequests {
      if MonotonicClock.nanoseconds >= end { return }
    }
  }
  #else
  init(on source: WorkerSource) { end = Self.end(on: source.executor) }

  var isOver: Bool { isLate }
  var isInSharedPool: Bool { false }
  var mayLinger: Bool { false }
  func linger(until hasNews: () -> Bool) {}
  #endif

  private static func end(on executor: any OperationExecutor) -> Int64? {
    executor is DispatchExecutor ? MonotonicClock.nanoseconds + DispatchExecutor.longestTurn : nil
  }

  private var isLate: Bool { end.map { MonotonicClock.nanoseconds >= $0 } ?? false }
}
