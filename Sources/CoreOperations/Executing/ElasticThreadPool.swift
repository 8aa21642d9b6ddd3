#if os(Linux) || os(Android)
import Dispatch
import Synchronization

/// The shared thread pool, with one thread for each processor that the process may use, and one more for each
/// blocked thread.
///
/// Three kinds of requests wait in one queue: workers of operation queues, jobs of tasks (``BodyExecutor``),
/// and other closures. ``PoolState`` decides which request gets a thread.
///
/// A thread that sleeps in a body (synchronous I/O, a semaphore, `sleep`) would otherwise keep its core from
/// the operations behind it. While a request is waiting, a monitor checks the threads every millisecond. A
/// thread is blocked if it used next to no processor time since the last check and the kernel reports it as
/// sleeping. A blocked thread makes room for another (``ThreadLooks``).
///
/// When a request has waited for two checks, the monitor also makes the workers on the busy threads leave
/// after their current operation. So a job waits for one operation, instead of the share of a worker. This
/// operation may take minutes. Therefore a queue for which no thread has worked for some checks gets one more
/// thread, even if all processors are busy.
///
/// The system may refuse a thread, because there are too many in the process or its container, or because
/// there is no memory for its stack. Then the pool continues with its threads, and retries later.
final class ElasticThreadPool: OperationExecutor {
  static let shared = ElasticThreadPool(coreCount: Processors.available)

  /// Starts a thread; returns 0, or the error number with which the system refuses it.
  typealias Launch = @Sendable (_ body: @escaping @Sendable () -> Void) -> Int32

  private let state: Locked<PoolState>
  private let launch: Launch
  /// The flag is changed with the lock held and read as a hint, so it needs no ordering with other memory.
  private let isAwaited = Atomic(false)

  init(coreCount: Int, launch: @escaping Launch = DetachedThread.launch) {
    state = Locked(PoolState(coreCount: coreCount))
    self.launch = launch
  }

  /// A Boolean value that indicates whether requests wait for a thread; may be outdated.
  var hasRequests: Bool { isAwaited.load(ordering: .relaxed) }

  /// A Boolean value that indicates whether requests wait, or have just waited, for threads that the system
  /// refuses.
  var isShortOfThreads: Bool { state.withLock { $0.isRefused } }

  func enqueue(_ worker: @escaping @Sendable () -> Void) { submit(.call(worker)) }

  /// Runs a worker of a queue.
  ///
  /// - Parameters:
  ///   - queue: The identity of the queue.
  ///   - worker: The worker.
  func enqueue(workerOf queue: ObjectIdentifier, _ worker: @escaping @Sendable () -> Void) {
    submit(.worker(of: queue, worker))
  }

  /// Runs a job of a task, once, soon, and on another call stack.
  ///
  /// - Parameters:
  ///   - job: The job.
  ///   - executor: The executor that the job's task prefers. With another executor, the job would leave the
  ///     thread again.
  func enqueue(_ job: UnownedJob, for executor: UnownedTaskExecutor) {
    let request = unsafe PoolRequest.job(job, executor)
    if !PoolThread.withCurrent({ enqueue(request, following: $0) }) { submit(request) }
  }

  /// Adds a job to the queue without waking a thread, if no request waits and the enqueueing thread is
  /// probably about to be free.
  ///
  /// The thread is about to be free when it enqueues the second of the two jobs of a `Task.yield()`. The
  /// thread isn't about to be free if it runs an actor, which releases one task after another and runs the
  /// next task in between. In this case each job but the first wakes a thread, and the monitor finds a thread
  /// for the first job if the actor takes long.
  private func enqueue(_ request: PoolRequest, following thread: PoolThread) -> Bool {
    guard thread.isBetweenTasks,
      let placement = withState({ $0.requestedByLeaving(request, at: MonotonicClock.nanoseconds) })
    else { return false }
    perform(placement)
    return true
  }

  private func submit(_ request: PoolRequest) {
    perform(withState { $0.requested(request, at: MonotonicClock.nanoseconds) })
  }

  private func withState<Result>(_ body: (inout PoolState) -> Result) -> Result {
    state.withLock { state in
      defer {
        let hasRequests = state.hasRequests
        if isAwaited.load(ordering: .relaxed) != hasRequests {
          isAwaited.store(hasRequests, ordering: .relaxed)
        }
      }
      return body(&state)
    }
  }

  private func perform(_ placement: PoolState.Placement) {
    switch placement {
    case .handed(let thread): thread.wake()
    case .spawn(let thread): spawn(thread)
    case .waiting(let startMonitor): if startMonitor { launchMonitor() }
    }
  }

  // MARK: Threads

  /// The time after which a thread without work ends.
  private static let idleTime = DispatchTimeInterval.seconds(2)

  /// The number of times that a pool without threads requests one, 10 ms apart.
  private static let attempts = 100

  private func spawn(_ thread: PoolThread) {
    var attempt = 1
    while true {
      let error = launch { thread.run(in: self) }
      if error == 0 { break }
      switch withState({ $0.refused(thread, at: MonotonicClock.nanoseconds) }) {
      case .goOn(let woken, let startMonitor):
        woken?.wake()
        if startMonitor { launchMonitor() }
        return
      case .tryAgain:
        // The cause of the refusal may disappear, because threads of other code end.
        if attempt == Self.attempts {
          trap(
            "The system refuses to start a thread (pthread_create returned \(error)), and the "
              + "thread pool has none. Allow the process at least one more thread."
          )
        }
        attempt += 1
        MonotonicClock.block(for: .milliseconds(10))
      }
    }
    if isShortOfThreads { withState { $0.launched() } }
  }

  func run(_ thread: PoolThread) {
    while thread.workOnce() {
      switch withState({ $0.returned(thread, at: MonotonicClock.nanoseconds) }) {
      case .work(let startMonitor):
        if startMonitor { launchMonitor() }
        continue
      case .sleep: break
      }
      while !thread.sleep(for: Self.idleTime) {
        switch state.withLock({ $0.rested(thread) }) {
        case .leave: return
        case .sleepOn: continue
        case .awaitWake: thread.sleepUntilWoken()
        }
        break
      }
    }
  }

  // MARK: The monitor

  private func launchMonitor() {
    if launch({ self.monitor() }) != 0 { withState { $0.monitorRefused() } }
  }

  private func monitor() {
    while true {
      MonotonicClock.block(for: .milliseconds(1))
      let threads = state.withLock { $0.threadsInTheWay }
      let looks = threads.map { (thread: $0, isBlocked: $0.looksBlocked()) }
      let time = MonotonicClock.nanoseconds
      let look = withState { $0.looked(at: looks, time: time) }
      for placement in look.placements { perform(placement) }
      if look.isLast { return }
    }
  }
}

/// A thread of the pool.
///
/// The property `next` is written by the owner of the thread at that moment. The owner is the thread itself
/// while it is busy, and the pool, under its lock, while it is idle.
final class PoolThread: @unchecked Sendable {
  // Sendable: see above. `origin` and `isMarkedBlocked` are guarded by the pool's lock, `looks` belongs to
  // the monitor, and `runsJob` belongs to the thread. The other properties are immutable after the launch.
  var next: PoolRequest?
  /// The origin of the current work, or of the last work.
  private(set) var origin: PoolRequest.Origin
  /// A Boolean value that indicates whether the thread was blocked at the monitor's last check, and has been
  /// busy since.
  var isMarkedBlocked = false
  private var runsJob = false
  /// The flag is a hint, so it needs no ordering with other memory.
  private let wanted = Atomic(false)
  /// The pool thread that this code runs on; nil on other threads.
  static let current = ThreadLocal<PoolThread>()

  /// Calls a body with the pool thread that this code runs on; returns false on other threads.
  static func withCurrent(_ body: (PoolThread) -> Bool) -> Bool {
    // The reference isn't counted, because the thread holds a reference.
    guard let thread = unsafe current.reference else { return false }
    return unsafe thread._withUnsafeGuaranteedRef(body)
  }
  private let semaphore = DispatchSemaphore(value: 0)
  /// The time that the thread polls for work before it sleeps; only the thread uses it.
  var lingerTime = SpinDuration()
  /// The time at which `next` was handed to the idle thread.
  private var handedAt: Int64 = 0
  /// The activity of the thread; nil until the thread has begun.
  private let activity = Locked<ThreadActivity?>(nil)
  private var looks = ThreadLooks()
  /// A Boolean value that indicates whether the thread was idle since the monitor's last check; a hint to the
  /// monitor.
  private let wasIdle = Atomic(false)

  init(first: PoolRequest) {
    next = first
    origin = first.origin
  }

  /// Runs the thread, from its beginning to its end.
  func run(in pool: ElasticThreadPool) {
    let activity = ThreadActivity()
    self.activity.withLock { $0 = activity }
    Self.current.value = self
    pool.run(self)
  }

  /// Records that the thread was given its next request while it was idle.
  func isHanded(_ request: PoolRequest) {
    wasIdle.store(true, ordering: .relaxed)
    continues(with: request)
  }

  /// Records that the thread was given its next request.
  func continues(with request: PoolRequest) {
    next = request
    origin = request.origin
  }

  /// Runs the current request, and releases it; returns false if there is no request.
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

  /// A Boolean value that indicates whether this thread runs a job but no task, and so no code of the user at
  /// this moment.
  ///
  /// Read this property on the thread itself.
  ///
  /// This happens when the thread resumes a task that has yielded, and returns after that. It is also the
  /// case between two tasks of an actor, the second of which may take long.
  var isBetweenTasks: Bool { runsJob && Task.basePriority == nil }

  /// Records that a request has waited for a thread for some time.
  func want() { wanted.store(true, ordering: .relaxed) }

  /// A Boolean value that indicates whether the current worker should leave after its operation.
  var isWanted: Bool { wanted.load(ordering: .relaxed) }

  func wake() {
    handedAt = MonotonicClock.nanoseconds
    semaphore.signal()
  }

  /// Sleeps for at most an interval; returns whether the thread was woken in time.
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

  /// Returns whether the thread is blocked.
  ///
  /// Only the monitor calls this method.
  ///
  /// A thread that hasn't begun has no clock yet, and a thread that has ended in the meantime has no clock
  /// any more. Neither is blocked.
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

/// The observations that the monitor has made of one thread, in order to decide whether it is blocked.
///
/// A thread that polls every half millisecond, and sleeps in between, uses some processor time between any
/// two checks. Such a thread is as blocked as a thread that always sleeps. Processor time alone doesn't show
/// that, so the kernel has to report that the thread sleeps.
struct ThreadLooks {
  /// The divisor for the part of the time between two checks in which a blocked thread may compute.
  private static let part: Int64 = 10

  /// The number of checks in a row at which a thread that uses no processor time counts as asleep without a
  /// query.
  private static let longestGuess = 3

  private struct Look {
    let processorTime: Int64
    let time: Int64
    /// Whether the kernel reported the thread as sleeping; nil if the kernel wasn't queried.
    var isAsleep: Bool?
    var guesses = 0
  }

  private var last: Look?

  /// Records that the thread had no work since the last check.
  mutating func wasIdle() { last = nil }

  /// Checks the thread.
  ///
  /// - Parameters:
  ///   - processorTime: The processor time that the thread has used so far, in nanoseconds.
  ///   - time: The time of the check, in nanoseconds.
  ///   - isAsleep: An expression that returns whether the thread sleeps now. The expression is evaluated only
  ///     if necessary, because querying the kernel takes fifteen times as long as the rest of the check.
  /// - Returns: Whether the thread is blocked.
  mutating func looked(
    processorTime: Int64,
    at time: Int64,
    isAsleep: @autoclosure () -> Bool
  ) -> Bool {
    var look = Look(processorTime: processorTime, time: time)
    defer { last = look }
    guard let last else { return false }
    let used = processorTime - last.processorTime
    if used * Self.part >= time - last.time { return false }
    if used == 0, let wasAsleep = last.isAsleep {
      // A thread that waits for a processor doesn't fall asleep before it has a processor. A thread that
      // sleeps may have been woken, and wait for a processor.
      look.guesses = wasAsleep ? last.guesses + 1 : 0
      look.isAsleep = wasAsleep
      if look.guesses <= Self.longestGuess { return wasAsleep }
      look.guesses = 0
    }
    let answer = isAsleep()
    look.isAsleep = answer
    return answer
  }
}
#endif
