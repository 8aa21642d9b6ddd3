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
  var lingerTime = SpinDuration()
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

/// What the monitor of the pool has seen of one thread, and whether the thread is blocked.
///
/// A thread that asks every half millisecond whether something has happened, and sleeps in between,
/// uses some processor time between any two looks: it is as blocked as one that sleeps throughout.
/// Processor time alone doesn't show that: the kernel has to say that the thread sleeps.
struct ThreadLooks {
  /// The part of the time between two looks that a blocked thread may compute.
  private static let part: Int64 = 10

  /// How often in a row a thread that uses no processor time counts as still asleep unseen.
  private static let longestGuess = 3

  private struct Look {
    let processorTime: Int64
    let time: Int64
    /// Whether the kernel reported the thread as sleeping; nil if it wasn't asked.
    var isAsleep: Bool?
    var guesses = 0
  }

  private var last: Look?

  /// The thread had nothing to do since the last look.
  mutating func wasIdle() { last = nil }

  /// Takes a look.
  ///
  /// - Parameters:
  ///   - processorTime: What the thread has computed so far, in nanoseconds.
  ///   - time: The time of the look, in nanoseconds.
  ///   - isAsleep: Whether it sleeps now; asked only if that matters, because to ask the kernel
  ///     takes fifteen times as long as all the rest.
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
      // One that waits for a processor doesn't fall asleep before it has one. One that sleeps may
      // have been woken, and wait for a processor.
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
