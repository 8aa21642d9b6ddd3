#if os(Linux) || os(Android)
import Dispatch
import Synchronization

/// The shared pool of threads: as many as the process may use processors, and one more for each
/// that is blocked.
///
/// Its requests are of three kinds, in one line: workers of queues, jobs of tasks
/// (``BodyExecutor``), and other closures. ``PoolState`` decides which of them gets a thread.
///
/// A thread that sleeps in a body (synchronous I/O, a semaphore, `sleep`) would otherwise keep its
/// core from the operations behind it. While a request is waiting, a monitor looks every
/// millisecond: a thread that used next to no processor time since the last look and that the
/// kernel reports as sleeping is blocked, and makes room for another (``ThreadLooks``). When a
/// request has waited for two looks, the monitor also has the workers on the busy threads leave
/// after the operation at hand: a job waits for one operation, and not for the share of a worker.
/// That operation may take minutes. So a queue for which no thread has worked for some looks gets
/// one more, although all processors compute.
///
/// The system may refuse a thread: of too many in the process or its container, or because there is
/// no memory for its stack. Then the pool goes on with those that it has, and tries again later.
final class ElasticThreadPool: OperationExecutor {
  static let shared = ElasticThreadPool(coreCount: Processors.available)

  /// Starts a thread; returns 0, or the number of the error for which the system refuses it.
  typealias Launch = @Sendable (_ body: @escaping @Sendable () -> Void) -> Int32

  private let state: Locked<PoolState>
  private let launch: Launch
  /// Changed with the lock held; read as a hint, so no order with anything else is needed.
  private let isAwaited = Atomic(false)

  init(coreCount: Int, launch: @escaping Launch = DetachedThread.launch) {
    state = Locked(PoolState(coreCount: coreCount))
    self.launch = launch
  }

  /// Whether requests wait for a thread; may be outdated.
  var hasRequests: Bool { isAwaited.load(ordering: .relaxed) }

  /// Whether requests wait, or have just waited, for threads that the system refuses.
  var isShortOfThreads: Bool { state.withLock { $0.isRefused } }

  func enqueue(_ worker: @escaping @Sendable () -> Void) { submit(.call(worker)) }

  /// Runs a worker of a queue.
  ///
  /// - Parameters:
  ///   - queue: What the queue is known by.
  ///   - worker: The worker.
  func enqueue(workerOf queue: ObjectIdentifier, _ worker: @escaping @Sendable () -> Void) {
    submit(.worker(of: queue, worker))
  }

  /// Runs a job of a task, once, soon, and on another stack.
  ///
  /// - Parameters:
  ///   - job: The job.
  ///   - executor: What the job finds as its executor: the one that its task prefers, or it would
  ///     leave the thread again.
  func enqueue(_ job: UnownedJob, for executor: UnownedTaskExecutor) {
    let request = unsafe PoolRequest.job(job, executor)
    if !PoolThread.withCurrent({ enqueue(request, following: $0) }) { submit(request) }
  }

  /// Puts a job into the line and wakes no thread, if it is the only one there and the thread that
  /// enqueues it is probably about to be free.
  ///
  /// That is so for the second of the two jobs that a `Task.yield()` consists of. It isn't for an
  /// actor, which lets go of one task after another and runs the next one in between: each but the
  /// first wakes a thread, and the monitor finds one for the first if the actor takes long.
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

  /// How long a thread without work stays.
  private static let idleTime = DispatchTimeInterval.seconds(2)

  /// How often a pool without threads asks for one, 10 ms apart.
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
        // What keeps the system from giving one may pass: threads of others end.
        if attempt == Self.attempts {
          trap(
            "The system refuses to start a thread (pthread_create returned \(error)), and the "
              + "thread pool has none. Allow the process at least one more."
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
#endif
