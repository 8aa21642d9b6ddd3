import Dispatch
import Synchronization

/// Where the workers of a queue come from, until that is changed.
///
/// All that belongs together is in one object, which the queue exchanges under its lock: of several
/// threads that change it at once, one is the last in every respect. A worker keeps the source that
/// it came from, and finds by identity whether that is still the queue's.
final class WorkerSource: Sendable {
  let executor: any OperationExecutor
  /// The executor, if it decides every step.
  let stepped: (any SteppedExecutor)?
  /// Whether it does; read for each closure that is added, and cheaper than the existential.
  let isStepped: Bool
  /// The dispatch queue that the executor stands for, if the queue was given one.
  let underlyingQueue: DispatchQueue?
  /// Whether that is the main one.
  let isOnMainThread: Bool
  #if os(Linux) || os(Android)
  /// The executor, if it is a thread pool of this library.
  let pool: ElasticThreadPool?
  #endif

  package init(_ executor: any OperationExecutor, underlyingQueue: DispatchQueue? = nil) {
    self.executor = executor
    stepped = executor as? any SteppedExecutor
    isStepped = stepped != nil
    self.underlyingQueue = underlyingQueue
    isOnMainThread = underlyingQueue.map(MainThread.isQueue) ?? false
    #if os(Linux) || os(Android)
    pool = executor as? ElasticThreadPool
    #endif
  }

  /// Has a worker run soon.
  ///
  /// - Parameters:
  ///   - queue: The scheduler of the queue that it works for, as the pool tells queues apart.
  ///   - worker: The worker.
  func enqueue(workerOf queue: Scheduler, _ worker: @escaping @Sendable () -> Void) {
    #if os(Linux) || os(Android)
    if let pool { return pool.enqueue(workerOf: ObjectIdentifier(queue), worker) }
    #endif
    executor.enqueue(worker)
  }

  /// Whether workers wait, or have just waited, for threads that the system refuses.
  var isShortOfThreads: Bool {
    #if os(Linux) || os(Android)
    pool?.isShortOfThreads ?? false
    #else
    false
    #endif
  }
}

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

/// How long a thread looks out for more work before it sleeps.
///
/// To look for as long as a wake-up costs is never more than twice the cost of the better choice. A
/// wake-up takes 5 µs where the woken thread's processor is awake, and ten times as long where it
/// sleeps, in a virtual machine above all. So the time follows what would have been needed when the
/// thread slept last, as long as that was worth the wake-up: where work comes just after the thread
/// has fallen asleep, it looks longer; where it comes later, less, and then not at all.
struct SpinDuration: Equatable {
  /// The least and the most that is worth a look, whatever a wake-up took: the thread may have
  /// waited for a processor.
  static let bounds = 5_000...50_000 as ClosedRange<Int64>

  private(set) var nanoseconds = bounds.lowerBound

  /// Work came when the thread slept already.
  ///
  /// - Parameters:
  ///   - idleTime: How long it had looked for work, and slept, until the work came, in nanoseconds.
  ///   - wakeUp: How long it then took until the thread ran.
  mutating func workCame(after idleTime: Int64, wakeUp: Int64) {
    // Twice, because the work comes from a thread that may have had to be woken as well.
    let most = Self.bounds.upperBound
    let worth = min(max(min(wakeUp, most) * 2, Self.bounds.lowerBound), most)
    if idleTime <= worth {
      nanoseconds = min(max(nanoseconds, idleTime * 2), worth)
    } else {
      nanoseconds = nanoseconds < 1_000 ? 0 : nanoseconds / 2
    }
  }
}

/// Whether threads that watched for the end of a wait, before they slept, saw it.
///
/// While they do, each watches. After three that didn't, only one in sixteen does, to find out
/// whether that has changed.
struct WatchHistory: Equatable {
  /// How long a thread watches: what an operation takes that runs at once, and the half of what a
  /// sleep costs.
  static let nanoseconds: Int64 = 4_000

  /// Waits since the last success, whether they watched or not.
  private var failures: UInt32 = 0

  /// A wait begins.
  ///
  /// - Returns: Whether to watch; then ``note(hasPaidOff:)`` follows.
  mutating func next() -> Bool {
    if failures < 3 || failures % 16 == 0 { return true }
    failures &+= 1
    return false
  }

  /// A thread has watched.
  mutating func note(hasPaidOff: Bool) { failures = hasPaidOff ? 0 : failures &+ 1 }
}

extension WatchHistory {
  /// That of the process.
  ///
  /// A hint: of two threads that change it at the same time, one is forgotten.
  private static let shared = Atomic<UInt32>(0)

  static func change<Result>(_ body: (inout WatchHistory) -> Result) -> Result {
    var history = WatchHistory(failures: shared.load(ordering: .relaxed))
    let old = history
    defer { if history != old { shared.store(history.failures, ordering: .relaxed) } }
    return body(&history)
  }

  /// Whether the wait that begins on this thread is to watch; on one processor, what is waited for
  /// couldn't run meanwhile.
  static func nextOfProcess() -> Bool { Processors.areSeveral && change { $0.next() } }
}
