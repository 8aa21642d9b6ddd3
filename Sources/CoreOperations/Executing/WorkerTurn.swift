/// Whether a worker should leave its thread to others before its share is used up.
///
/// A share counts operations, and says nothing about how long they take: without this, a completion
/// block or another queue would wait for 256 operations, however slow.
struct WorkerTurn {
  #if os(Linux)
  private let thread: PoolThread?

  /// The turn that begins on this thread; without an end unless the executor is the shared pool.
  init(on executor: any OperationExecutor) {
    thread = executor is ElasticThreadPool ? PoolThread.current.value : nil
  }

  var isOver: Bool { thread?.isWanted ?? false }

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
    guard let thread else { return }
    let end = MonotonicClock.nanoseconds + thread.lingerTime.nanoseconds
    while !hasNews(), !isOver, !ElasticThreadPool.shared.hasRequests {
      if MonotonicClock.nanoseconds >= end { return }
    }
  }
  #else
  init(on executor: any OperationExecutor) {}

  var isOver: Bool { false }
  var isInSharedPool: Bool { false }
  var mayLinger: Bool { false }
  func linger(until hasNews: () -> Bool) {}
  #endif
}
