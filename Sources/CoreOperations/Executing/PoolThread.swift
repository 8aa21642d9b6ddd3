#if os(Linux) || os(Android)
import Dispatch
import Synchronization

/// One thread of the pool.
///
/// `next` is written by the owner of the thread at that moment: the thread itself while it is busy,
/// and the pool, under its lock, while it is idle.
final class PoolThread: @unchecked Sendable {
  // Sendable: see above; `origin` and `isMarkedBlocked` are behind the pool's lock, `looks` belongs
  // to the monitor, `runsJob` to the thread, the rest is immutable once launched.
  var next: PoolRequest?
  /// Whose work it does, or did last.
  private(set) var origin: PoolRequest.Origin
  /// Whether it was blocked when the monitor looked last, and has been busy since.
  var isMarkedBlocked = false
  private var runsJob = false
  /// A hint, so no order with anything else is needed.
  private let wanted = Atomic(false)
  /// The thread that this code runs on, if it is one of the pool.
  static let current = ThreadLocal<PoolThread>()

  /// Calls a body with the thread that this code runs on; returns false if that isn't one of the
  /// pool.
  static func withCurrent(_ body: (PoolThread) -> Bool) -> Bool {
    // Not counted: the thread holds a reference.
    guard let thread = unsafe current.reference else { return false }
    return unsafe thread._withUnsafeGuaranteedRef(body)
  }
  private let semaphore = DispatchSemaphore(value: 0)
  /// Belongs to the thread.
  var lingerTime = LingerTime()
  /// When `next` was handed to the idle thread.
  private var handedAt: Int64 = 0
  /// Nil until the thread has begun.
  private let activity = Locked<ThreadActivity?>(nil)
  private var looks = ThreadLooks()
  /// Whether the thread was idle since the monitor has looked at it; a hint to the monitor.
  private let wasIdle = Atomic(false)

  init(first: PoolRequest) {
    next = first
    origin = first.origin
  }

  /// What the thread itself does, from its beginning to its end.
  func run(in pool: ElasticThreadPool) {
    let activity = ThreadActivity()
    self.activity.withLock { $0 = activity }
    Self.current.value = self
    pool.run(self)
  }

  /// The thread was given its next request while it was idle.
  func isHanded(_ request: PoolRequest) {
    wasIdle.store(true, ordering: .relaxed)
    continues(with: request)
  }

  /// The thread was given its next request.
  func continues(with request: PoolRequest) {
    next = request
    origin = request.origin
  }

  /// Does what there is to do, and lets go of it before it returns.
  func workOnce() -> Bool {
    guard let request = next.take() else { return false }
    wanted.store(false, ordering: .relaxed)
    switch request {
    case .worker(_, let work), .call(let work): work()
    case .job(let job, let executor):
      runsJob = true
      unsafe job.runSynchronously(on: executor)
      runsJob = false
    }
    return true
  }

  /// Whether this thread runs a job, but no task, and so none of the user's code at this moment; to
  /// be called on it.
  ///
  /// It does so when it resumes a task that has yielded, and returns after that; and between two
  /// tasks of an actor, the second of which may take long.
  var isBetweenTasks: Bool { runsJob && Task.basePriority == nil }

  /// A request has waited for a thread for some time.
  func want() { wanted.store(true, ordering: .relaxed) }

  /// Whether the worker at hand should leave after its operation.
  var isWanted: Bool { wanted.load(ordering: .relaxed) }

  func wake() {
    handedAt = MonotonicClock.nanoseconds
    semaphore.signal()
  }

  /// Returns whether it was woken in time.
  func sleep(for interval: DispatchTimeInterval) -> Bool {
    let idleSince = MonotonicClock.nanoseconds - lingerTime.nanoseconds
    guard semaphore.wait(timeout: .now() + interval) == .success else { return false }
    lingerTime.workCame(
      after: handedAt - idleSince,
      wakeUp: MonotonicClock.nanoseconds - handedAt
    )
    return true
  }

  func sleepUntilWoken() { semaphore.wait() }

  /// Whether the thread is blocked; for the monitor only.
  ///
  /// A thread that hasn't begun has no clock, and one that has ended meanwhile has none any more:
  /// neither is blocked.
  func looksBlocked() -> Bool {
    guard let activity = activity.withLock({ $0 }), let processorTime = activity.processorTime
    else { return false }
    if wasIdle.exchange(false, ordering: .relaxed) { looks.wasIdle() }
    return looks.looked(
      processorTime: processorTime,
      at: MonotonicClock.nanoseconds,
      isAsleep: activity.isAsleep
    )
  }
}
#endif
