#if os(Linux) || os(Android)
/// The state of the pool: its threads, the threads that are blocked, and the requests that wait for a thread.
///
/// This is a plain value behind the lock of ``ElasticThreadPool``. Each event is one mutating method, and
/// returns the action that is due outside of the lock as a value.
struct PoolState {
  /// The number of threads at which growth ends, even if threads are blocked.
  static let maximumThreadCount = 512
  /// The number of threads that may compute in addition to one for each processor, each for a queue that had
  /// no thread.
  static let maximumExtraCount = 64
  /// The number of checks until the system is asked again for a thread that it has refused.
  static let looksUntilRetry = 10
  /// The number of checks without a request after which the monitor ends.
  static let looksUntilEnd = 20

  /// The resource that a request is given.
  enum Placement {
    /// An idle thread, which has to be woken.
    case handed(PoolThread)
    /// A thread that has to be launched.
    case spawn(PoolThread)
    /// A place in the queue of requests.
    case waiting(startMonitor: Bool)
  }

  /// The next step of a thread that has returned from its work.
  enum Next {
    /// The thread runs the request that it was given.
    case work(startMonitor: Bool)
    case sleep
  }

  /// The next step of a thread that has slept for some time.
  enum Rest {
    /// The thread was handed a request, and is about to be woken.
    case awaitWake
    /// The thread stays, because the system might refuse another thread.
    case sleepOn
    case leave
  }

  /// The next step of a caller whose thread the system has refused.
  enum Refused {
    /// There is no other thread, so the caller has to retry.
    case tryAgain
    /// The request is in the queue again. If a thread has become idle, the caller has to wake it.
    case goOn(PoolThread?, startMonitor: Bool)
  }

  /// The result of a check by the monitor.
  struct Look {
    var placements: [Placement] = []
    /// A Boolean value that indicates whether the monitor ends.
    var isLast = false
  }

  private let coreCount: Int
  private var line = PoolLine()
  private var idle: [PoolThread] = []
  private var busy: [ObjectIdentifier: PoolThread] = [:]
  /// The number of busy threads that were blocked at the monitor's last check.
  private var blockedCount = 0
  private var isMonitored = false
  /// The time of the monitor's last check or of its start, in nanoseconds.
  private var lastLook: Int64 = 0
  /// The number of checks in a row with requests, and without requests.
  private var (waitingLooks, quietLooks) = (0, 0)
  /// A Boolean value that indicates whether the system has refused the last thread that the pool requested
  /// while requests waited.
  private(set) var isRefused = false
  /// A Boolean value that indicates whether the system has ever refused a thread.
  private var isShort = false
  private var looksUntilRetry = 0

  init(coreCount: Int) { self.coreCount = coreCount }

  var hasRequests: Bool { !line.isEmpty }

  /// The number of threads that are busy and not known to be blocked.
  private var computing: Int { busy.count - blockedCount }

  private var hasRoom: Bool { hasRoom(for: coreCount) }

  private func hasRoom(for count: Int) -> Bool {
    computing < count && busy.count < Self.maximumThreadCount && canSeat
  }

  /// A Boolean value that indicates whether there is an idle thread, or the system may start a thread.
  private var canSeat: Bool {
    !idle.isEmpty || !isRefused || looksUntilRetry == 0 || !isMonitored
  }

  // MARK: Requests

  /// Adds a request.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - time: The time, which is read only if a monitor has to be started.
  /// - Returns: The placement of the request, or of the first request in the queue.
  mutating func requested(
    _ request: PoolRequest,
    at time: @autoclosure () -> Int64
  ) -> Placement {
    guard hasRoom else { return lineUp(request, at: time()) }
    guard let first = line.popFirst() else { return seat(request) }
    line.append(request, at: lastLook)
    return seat(first)
  }

  /// Adds a request of a thread that is probably about to be free.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - time: The time.
  /// - Returns: The place of the request in the queue; nil without a change if other requests wait.
  mutating func requestedByLeaving(
    _ request: PoolRequest,
    at time: @autoclosure () -> Int64
  ) -> Placement? { line.isEmpty ? lineUp(request, at: time()) : nil }

  private mutating func lineUp(
    _ request: PoolRequest,
    at time: @autoclosure () -> Int64
  ) -> Placement {
    let startMonitor = monitorIsDue(at: time())
    line.append(request, at: lastLook)
    return .waiting(startMonitor: startMonitor)
  }

  /// Returns whether a monitor has to be started, and records that it is started.
  private mutating func monitorIsDue(at time: @autoclosure () -> Int64) -> Bool {
    if isMonitored { return false }
    (isMonitored, lastLook) = (true, time())
    return true
  }

  /// Gives a request to a thread, which then has to be woken or launched.
  private mutating func seat(_ request: PoolRequest) -> Placement {
    if let thread = idle.popLast() {
      thread.isHanded(request)
      busy[ObjectIdentifier(thread)] = thread
      return .handed(thread)
    }
    if isRefused { looksUntilRetry = Self.looksUntilRetry }
    let thread = PoolThread(first: request)
    busy[ObjectIdentifier(thread)] = thread
    return .spawn(thread)
  }

  // MARK: Threads

  /// Records that a thread has done its work.
  mutating func returned(_ thread: PoolThread, at time: @autoclosure () -> Int64) -> Next {
    if computing <= coreCount, let request = line.popFirst() {
      thread.continues(with: request)
      return .work(startMonitor: hasRequests && monitorIsDue(at: time()))
    }
    busy[ObjectIdentifier(thread)] = nil
    if thread.isMarkedBlocked { mark(thread, isBlocked: false) }
    idle.append(thread)
    return .sleep
  }

  /// Records that a thread has had no work for some time.
  mutating func rested(_ thread: PoolThread) -> Rest {
    guard let index = idle.firstIndex(where: { $0 === thread }) else { return .awaitWake }
    if isShort && busy.isEmpty && idle.count == 1 { return .sleepOn }
    idle.remove(at: index)
    return .leave
  }

  /// Records that the system started a thread.
  mutating func launched() { isRefused = false }

  /// Records that the system refused a thread.
  mutating func refused(_ thread: PoolThread, at time: Int64) -> Refused {
    (isRefused, isShort) = (true, true)
    looksUntilRetry = Self.looksUntilRetry
    if busy.count == 1 && idle.isEmpty { return .tryAgain }
    busy[ObjectIdentifier(thread)] = nil
    if let request = thread.next.take() { line.putBack(request, at: lastLook) }
    // A thread may have returned between the two steps.
    var woken: PoolThread?
    if !idle.isEmpty, hasRoom, let first = line.popFirst(),
      case .handed(let thread) = seat(first)
    {
      woken = thread
    }
    return .goOn(woken, startMonitor: hasRequests && monitorIsDue(at: time))
  }

  // MARK: The monitor

  /// Records that the system refused the thread of the monitor.
  ///
  /// The next request in the queue retries, and so does the next thread that returns.
  mutating func monitorRefused() { (isMonitored, isRefused, isShort) = (false, true, true) }

  /// The threads that the monitor has to check; empty if no request waits for them.
  var threadsInTheWay: [PoolThread] { line.isEmpty ? [] : Array(busy.values) }

  private mutating func mark(_ thread: PoolThread, isBlocked: Bool) {
    guard thread.isMarkedBlocked != isBlocked else { return }
    thread.isMarkedBlocked = isBlocked
    blockedCount += isBlocked ? 1 : -1
  }

  /// Records that the monitor has checked the threads.
  ///
  /// - Parameters:
  ///   - threads: The ``threadsInTheWay``, and whether each is blocked.
  ///   - time: The time.
  /// - Returns: The result of the check.
  mutating func looked(
    at threads: [(thread: PoolThread, isBlocked: Bool)],
    time: Int64
  ) -> Look {
    lastLook = time
    if looksUntilRetry > 0 { looksUntilRetry -= 1 }
    for (thread, isBlocked) in threads where busy[ObjectIdentifier(thread)] != nil {
      mark(thread, isBlocked: isBlocked)
    }
    var look = Look()
    while hasRoom, let request = line.popFirst() { look.placements.append(seat(request)) }
    seatNeglected(&look)
    waitingLooks = line.isEmpty ? 0 : waitingLooks + 1
    if waitingLooks > 1 { for thread in busy.values { thread.want() } }
    quietLooks = line.isEmpty ? quietLooks + 1 : 0
    if quietLooks > Self.looksUntilEnd {
      (quietLooks, isMonitored, isRefused) = (0, false, false)
      look.isLast = true
    }
    return look
  }

  /// Gives one thread to each queue without a thread whose requests wait while other queues' threads compute.
  private mutating func seatNeglected(_ look: inout Look) {
    let most = coreCount + Self.maximumExtraCount
    guard line.hasOld(at: lastLook), hasRoom(for: most) else { return }
    var served = Set(busy.values.lazy.filter { !$0.isMarkedBlocked }.map(\.origin))
    while hasRoom(for: most), let request = line.takeNeglected(at: lastLook, besides: served) {
      served.insert(request.origin)
      look.placements.append(seat(request))
    }
  }
}

/// A unit of work for a thread of the pool.
@safe enum PoolRequest: Sendable {
  /// A worker of a queue, which is identified by the address of its scheduler.
  case worker(of: ObjectIdentifier, @Sendable () -> Void)
  /// Another closure: a completion block, or the end of a timer.
  case call(@Sendable () -> Void)
  /// A job of a task, and the executor that the task prefers.
  case job(UnownedJob, UnownedTaskExecutor)

  /// The origin of a request.
  enum Origin: Hashable {
    case queue(ObjectIdentifier)
    /// The shared origin of closures that aren't workers.
    case calls
    /// The tasks of all queues, because a job doesn't indicate which queue its task belongs to.
    case tasks
  }

  var origin: Origin {
    switch self {
    case .worker(let queue, _): .queue(queue)
    case .call: .calls
    case .job: .tasks
    }
  }
}

/// The requests of a pool that wait for a thread, in their order.
struct PoolLine {
  private struct Entry {
    let request: PoolRequest
    let ticket: UInt64
    /// The time of the monitor's last check before the request arrived, in nanoseconds.
    let time: Int64
  }

  /// The number of nanoseconds after which a request is neglected, if no thread works for its origin.
  static let patience: Int64 = 4_000_000

  // The kinds are separate, so that a search for a neglected queue skips jobs, of which there may be a
  // hundred thousand. The search skips few workers, because each queue in front of the neglected queue has a
  // thread.
  private var workers = FirstInFirstOut<Entry>()
  private var calls = FirstInFirstOut<Entry>()
  private var jobs = FirstInFirstOut<Entry>()
  private var lastTicket: UInt64 = 0

  var isEmpty: Bool { workers.isEmpty && calls.isEmpty && jobs.isEmpty }

  mutating func append(_ request: PoolRequest, at time: Int64) {
    lastTicket += 1
    let entry = Entry(request: request, ticket: lastTicket, time: time)
    switch request {
    case .worker: workers.append(entry)
    case .call: calls.append(entry)
    case .job: jobs.append(entry)
    }
  }

  /// Puts a request back in front of all others.
  mutating func putBack(_ request: PoolRequest, at time: Int64) {
    let entry = Entry(request: request, ticket: 0, time: time)
    switch request {
    case .worker: workers.prepend(entry)
    case .call: calls.prepend(entry)
    case .job: jobs.prepend(entry)
    }
  }

  mutating func popFirst() -> PoolRequest? {
    // Mostly, only requests of one kind wait.
    if calls.isEmpty {
      if workers.isEmpty { return jobs.popFirst()?.request }
      if jobs.isEmpty { return workers.popFirst()?.request }
    }
    let (worker, call, job) = (Self.ticket(workers), Self.ticket(calls), Self.ticket(jobs))
    if worker <= call && worker <= job { return workers.popFirst()?.request }
    return (call <= job ? calls.popFirst() : jobs.popFirst())?.request
  }

  private static func ticket(_ line: FirstInFirstOut<Entry>) -> UInt64 {
    line.isEmpty ? .max : line[0].ticket
  }

  /// Takes the first request that has waited for some time without a thread for its origin.
  ///
  /// - Parameters:
  ///   - time: The time of the check.
  ///   - served: The origins that have a thread that isn't blocked.
  /// - Returns: The request; nil if there is none.
  /// - Complexity: O(*n*), where *n* is the number of threads.
  mutating func takeNeglected(
    at time: Int64,
    besides served: Set<PoolRequest.Origin>
  ) -> PoolRequest? {
    if !served.contains(.calls), Self.isOld(calls, at: time) { return calls.popFirst()?.request }
    if !served.contains(.tasks), Self.isOld(jobs, at: time) { return jobs.popFirst()?.request }
    var index = 0
    while index < workers.count, Self.isOld(workers, index, at: time) {
      if !served.contains(workers[index].request.origin) {
        return workers.remove(at: index)?.request
      }
      index += 1
    }
    return nil
  }

  /// Returns whether a request has waited so long that it may be neglected.
  func hasOld(at time: Int64) -> Bool {
    Self.isOld(workers, at: time) || Self.isOld(calls, at: time) || Self.isOld(jobs, at: time)
  }

  private static func isOld(
    _ line: FirstInFirstOut<Entry>,
    _ index: Int = 0,
    at time: Int64
  ) -> Bool { index < line.count && time - line[index].time >= patience }
}
#endif
