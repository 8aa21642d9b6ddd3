#if os(Linux) || os(Android)
import Dispatch
import Synchronization

/// The shared pool of threads: as many as the process may use processors, and one more for each
/// that is blocked.
///
/// Its requests are of two kinds, in one line: workers of queues, and jobs of tasks
/// (``BodyExecutor``).
///
/// A thread that sleeps in a body (synchronous I/O, a semaphore, `sleep`) would otherwise keep its
/// core from the operations behind it. While a request is waiting, a monitor looks every
/// millisecond: a thread that consumed no CPU time since the last look and that the kernel reports
/// as sleeping is blocked, and makes room for another. CPU time alone doesn't show that: a thread
/// that waits for a core consumes none either. When a request has waited for two looks, the monitor
/// also has the workers on the busy threads leave after the operation at hand: a job waits for one
/// operation, and not for the share of a worker.
final class ElasticThreadPool: OperationExecutor {
  /// Growth ends here, whatever is blocked.
  static let maximumThreadCount = 512

  static let shared = ElasticThreadPool(coreCount: Processors.available)

  private struct State {
    var requests = FirstInFirstOut<PoolRequest>()
    var idle: [PoolThread] = []
    var busy: [ObjectIdentifier: PoolThread] = [:]
    var blockedCount = 0
    var isMonitored = false
  }

  private enum Placement {
    case handed(PoolThread)
    case spawn(PoolThread)
    case waiting(startMonitor: Bool)
  }

  private let coreCount: Int
  private let state = Locked(State())
  /// Changed with the lock held; read as a hint, so no order with anything else is needed.
  private let isAwaited = Atomic(false)

  init(coreCount: Int) { self.coreCount = coreCount }

  /// Whether requests wait for a thread; may be outdated.
  var hasRequests: Bool { isAwaited.load(ordering: .relaxed) }

  func enqueue(_ worker: @escaping @Sendable () -> Void) { submit(.worker(worker)) }

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
    guard thread.isBetweenTasks else { return false }
    let placement = state.withLock { state -> Placement? in
      guard state.requests.isEmpty else { return nil }
      return lineUp(request, in: &state)
    }
    guard let placement else { return false }
    perform(placement)
    return true
  }

  private func submit(_ request: PoolRequest) {
    perform(state.withLock { place(request, in: &$0) })
  }

  private func perform(_ placement: Placement) {
    switch placement {
    case .handed(let thread): thread.wake()
    case .spawn(let thread): thread.launch(in: self)
    case .waiting(let startMonitor): if startMonitor { launchMonitor() }
    }
  }

  private func place(_ request: PoolRequest, in state: inout State) -> Placement {
    guard state.busy.count < allowed(state) else {
      return lineUp(request, in: &state)
    }
    guard let first = popFirst(of: &state) else { return seat(request, in: &state) }
    append(request, to: &state)
    return seat(first, in: &state)
  }

  /// Puts a request into the line, which a monitor looks at from then on.
  private func lineUp(_ request: PoolRequest, in state: inout State) -> Placement {
    append(request, to: &state)
    defer { state.isMonitored = true }
    return .waiting(startMonitor: !state.isMonitored)
  }

  /// Gives a request to a thread, which has to be woken or spawned then.
  private func seat(_ request: PoolRequest, in state: inout State) -> Placement {
    if let thread = state.idle.popLast() {
      thread.next = request
      state.busy[ObjectIdentifier(thread)] = thread
      return .handed(thread)
    }
    let thread = PoolThread(first: request)
    state.busy[ObjectIdentifier(thread)] = thread
    return .spawn(thread)
  }

  private func append(_ request: PoolRequest, to state: inout State) {
    state.requests.append(request)
    isAwaited.store(true, ordering: .relaxed)
  }

  private func popFirst(of state: inout State) -> PoolRequest? {
    let first = state.requests.popFirst()
    if state.requests.isEmpty { isAwaited.store(false, ordering: .relaxed) }
    return first
  }

  private func allowed(_ state: State) -> Int {
    min(coreCount + state.blockedCount, Self.maximumThreadCount)
  }

  // MARK: Threads

  /// How long a thread without work stays.
  private static let idleTime = DispatchTimeInterval.seconds(2)

  func run(_ thread: PoolThread) {
    while thread.workOnce() {
      let hasWork = state.withLock { state -> Bool in
        if state.busy.count <= allowed(state), let request = popFirst(of: &state) {
          thread.next = request
          return true
        }
        state.busy[ObjectIdentifier(thread)] = nil
        state.idle.append(thread)
        return false
      }
      if hasWork { continue }
      if thread.sleep(for: Self.idleTime) { continue }
      let isGone = state.withLock { state -> Bool in
        guard let index = state.idle.firstIndex(where: { $0 === thread }) else { return false }
        state.idle.remove(at: index)
        return true
      }
      if isGone { return }
      thread.sleepUntilWoken()
    }
  }

  // MARK: The monitor

  private func launchMonitor() {
    DetachedThread.launch { self.monitor() }
  }

  private func monitor() {
    var quietTicks = 0
    var waitingTicks = 0
    while true {
      MonotonicClock.block(for: .milliseconds(1))
      let busy = state.withLock { Array($0.busy.values) }
      let blocked = busy.count { $0.looksBlocked() }
      let (placements, isDone) = state.withLock { state -> ([Placement], Bool) in
        state.blockedCount = blocked
        var placements: [Placement] = []
        while state.busy.count < allowed(state), let request = popFirst(of: &state) {
          placements.append(seat(request, in: &state))
        }
        waitingTicks = state.requests.isEmpty ? 0 : waitingTicks + 1
        if waitingTicks > 1 {
          for thread in state.busy.values { thread.want() }
        }
        let isQuiet = state.requests.isEmpty && state.busy.count <= coreCount
        quietTicks = isQuiet ? quietTicks + 1 : 0
        guard quietTicks > 20 else { return (placements, false) }
        state.isMonitored = false
        state.blockedCount = 0
        return (placements, true)
      }
      for placement in placements { perform(placement) }
      if isDone { return }
    }
  }
}
#endif
