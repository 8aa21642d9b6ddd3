#if os(Linux) || os(Android)
/// What the pool knows: which threads there are, which of them are blocked, and what waits for one.
///
/// A plain value behind the lock of ``ElasticThreadPool``. Each event is one mutating method, and
/// what has to be done outside of the lock comes back as a value.
struct PoolState {
  /// Growth ends here, whatever is blocked.
  static let maximumThreadCount = 512
  /// The number of threads that may compute beside one for each processor, each for a queue that
  /// had none.
  static let maximumExtraCount = 64
  /// The number of looks until the system is asked again for a thread that it has refused.
  static let looksUntilRetry = 10
  /// The number of looks without a request after which the monitor ends.
  static let looksUntilEnd = 20

  /// What a request is given.
  enum Placement {
    /// An idle thread, which has to be woken.
    case handed(PoolThread)
    /// A thread that has to be launched.
    case spawn(PoolThread)
    /// A place in the line.
    case waiting(startMonitor: Bool)
  }

  /// What a thread that has returned from its work does next.
  enum Next {
    /// The request that it was given.
    case work(startMonitor: Bool)
    case sleep
  }

  /// What a thread that has slept for some time does next.
  enum Rest {
    /// It was handed a request, and is about to be woken.
    case awaitWake
    /// It stays, because the system might not give another one.
    case sleepOn
    case leave
  }

  /// What the caller does whose thread the system has refused.
  enum Refused {
    /// There is no other thread: try again.
    case tryAgain
    /// The request is in the line again; wake a thread that has become idle, if there is one.
    case goOn(PoolThread?, startMonitor: Bool)
  }

  /// What comes of a look.
  struct Look {
    var placements: [Placement] = []
    /// Whether the monitor ends.
    var isLast = false
  }

  private let coreCount: Int
  private var line = PoolLine()
  private var idle: [PoolThread] = []
  private var busy: [ObjectIdentifier: PoolThread] = [:]
  /// The number of busy threads that were blocked when the monitor looked last.
  private var blockedCount = 0
  private var isMonitored = false
  /// When the monitor looked last, or was started; in nanoseconds.
  private var lastLook: Int64 = 0
  /// The number of looks in a row with requests, and without.
  private var (waitingLooks, quietLooks) = (0, 0)
  /// Whether the system has refused the thread that it was asked for last, while requests waited.
  private(set) var isRefused = false
  /// Whether it has ever refused one.
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

  /// Whether there is an idle thread, or the system may give one.
  private var canSeat: Bool {
    !idle.isEmpty || !isRefused || looksUntilRetry == 0 || !isMonitored
  }

  // MARK: Requests

  /// A request came.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - time: The time, which is read only when a monitor has to be started.
  /// - Returns: What it, or the first in the line, is given.
  mutating func requested(
    _ request: PoolRequest,
    at time: @autoclosure () -> Int64
  ) -> Placement {
    guard hasRoom else { return lineUp(request, at: time()) }
    guard let first = line.popFirst() else { return seat(request) }
    line.append(request, at: lastLook)
    return seat(first)
  }

  /// A request came from a thread that is probably about to be free.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - time: The time.
  /// - Returns: Its place in the line; nil, and nothing has changed, if others are in front.
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

  /// Whether a monitor has to be started; it counts as started then.
  private mutating func monitorIsDue(at time: @autoclosure () -> Int64) -> Bool {
    if isMonitored { return false }
    (isMonitored, lastLook) = (true, time())
    return true
  }

  /// Gives a request to a thread, which has to be woken or launched then.
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

  /// A thread has done its work.
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

  /// A thread has had nothing to do for some time.
  mutating func rested(_ thread: PoolThread) -> Rest {
    guard let index = idle.firstIndex(where: { $0 === thread }) else { return .awaitWake }
    if isShort && busy.isEmpty && idle.count == 1 { return .sleepOn }
    idle.remove(at: index)
    return .leave
  }

  /// The system gave a thread.
  mutating func launched() { isRefused = false }

  /// The system refused a thread.
  mutating func refused(_ thread: PoolThread, at time: Int64) -> Refused {
    (isRefused, isShort) = (true, true)
    looksUntilRetry = Self.looksUntilRetry
    if busy.count == 1 && idle.isEmpty { return .tryAgain }
    busy[ObjectIdentifier(thread)] = nil
    if let request = thread.next.take() { line.putBack(request, at: lastLook) }
    // It may have returned between the two steps.
    var woken: PoolThread?
    if !idle.isEmpty, hasRoom, let first = line.popFirst(),
      case .handed(let thread) = seat(first)
    {
      woken = thread
    }
    return .goOn(woken, startMonitor: hasRequests && monitorIsDue(at: time))
  }

  // MARK: The monitor

  /// The system refused the thread of the monitor: the next request in the line tries again, and
  /// the next thread that returns.
  mutating func monitorRefused() { (isMonitored, isRefused, isShort) = (false, true, true) }

  /// The threads to look at: none if nothing waits for them.
  var threadsInTheWay: [PoolThread] { line.isEmpty ? [] : Array(busy.values) }

  private mutating func mark(_ thread: PoolThread, isBlocked: Bool) {
    guard thread.isMarkedBlocked != isBlocked else { return }
    thread.isMarkedBlocked = isBlocked
    blockedCount += isBlocked ? 1 : -1
  }

  /// The monitor has looked at the threads.
  ///
  /// - Parameters:
  ///   - threads: The ``threadsInTheWay``, and whether each is blocked.
  ///   - time: The time.
  /// - Returns: What comes of it.
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

  /// Gives threads to queues whose requests wait while others compute: one to each that has none.
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

/// What a thread of the pool has to run.
@safe enum PoolRequest: Sendable {
  /// A worker of a queue, which the address of its scheduler stands for.
  case worker(of: ObjectIdentifier, @Sendable () -> Void)
  /// Another closure: a completion block, or the end of a timer.
  case call(@Sendable () -> Void)
  /// A part of a task, and the executor that the task prefers.
  case job(UnownedJob, UnownedTaskExecutor)

  /// Whose work a request is.
  enum Origin: Hashable {
    case queue(ObjectIdentifier)
    /// All closures that are no workers.
    case calls
    /// The tasks of all queues: a job doesn't say which queue its task belongs to.
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
    /// When the monitor looked last before the request arrived, in nanoseconds.
    let time: Int64
  }

  /// After so many nanoseconds a request is neglected, if no thread does anything for its origin.
  static let patience: Int64 = 4_000_000

  // Apart, so that a search for a queue that is neglected passes no jobs, of which there may be a
  // hundred thousand: of the queues in front of it, each has a thread.
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
    // Mostly, requests of one kind wait.
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
  ///   - time: The time of the look.
  ///   - served: The origins that have a thread which isn't blocked.
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

  /// Whether a request has waited so long that it may be neglected.
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
