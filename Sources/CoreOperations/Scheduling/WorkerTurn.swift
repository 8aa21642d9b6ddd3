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
  #else
  init(on executor: any OperationExecutor) {}

  var isOver: Bool { false }
  #endif
}
