import Dispatch
import Synchronization

/// The source of the workers of a queue, until it is changed.
///
/// All related settings are in one object, which the queue exchanges under its lock. If several threads
/// change the settings at the same time, one thread is the last in every respect. A worker keeps the source
/// that it came from, and compares identities to find out whether the queue still has that source.
final class WorkerSource: Sendable {
  let executor: any OperationExecutor
  /// The executor, if it controls every step.
  let stepped: (any SteppedExecutor)?
  /// A Boolean value that indicates whether the executor controls every step; read for each closure that is
  /// added, and cheaper than the existential.
  let isStepped: Bool
  /// The dispatch queue that the executor stands for, if the queue was given a dispatch queue.
  let underlyingQueue: DispatchQueue?
  /// A Boolean value that indicates whether that is the main queue.
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

  /// Makes a worker run soon.
  ///
  /// - Parameters:
  ///   - queue: The scheduler of the queue that the worker works for, by which the pool distinguishes queues.
  ///   - worker: The worker.
  func enqueue(workerOf queue: Scheduler, _ worker: @escaping @Sendable () -> Void) {
    #if os(Linux) || os(Android)
    if let pool { return pool.enqueue(workerOf: ObjectIdentifier(queue), worker) }
    #endif
    executor.enqueue(worker)
  }

  /// A Boolean value that indicates whether workers wait, or have just waited, for threads that the system
  /// refuses.
  var isShortOfThreads: Bool {
    #if os(Linux) || os(Android)
    pool?.isShortOfThreads ?? false
    #else
    false
    #endif
  }
}

/// A decision whether a worker should leave its thread to others before its share is used up.
///
/// A share is a number of operations, however slow they are. On the shared pool, a worker leaves when another
/// request waits for its thread. Dispatch doesn't report whether others wait, so a worker leaves a dispatch
/// queue after ``DispatchExecutor/longestTurn``.
struct WorkerTurn {
  /// The time at which the turn on a dispatch queue ends.
  private let end: Int64?

  #if os(Linux) || os(Android)
  private let thread: PoolThread?
  private let pool: ElasticThreadPool?

  /// Begins a turn on this thread.
  ///
  /// On an executor of another kind, only the share ends the turn.
  init(on source: WorkerSource) {
    pool = source.pool
    thread = pool == nil ? nil : PoolThread.current.value
    end = Self.end(on: source.executor)
  }

  var isOver: Bool {
    if let thread { return thread.isWanted }
    return isLate
  }

  /// A Boolean value that indicates whether the thread belongs to the shared pool, which has more threads
  /// when some are blocked.
  var isInSharedPool: Bool { thread != nil }

  /// A Boolean value that indicates whether the worker should poll for work for a moment before it releases
  /// the thread.
  ///
  /// Waking a thread costs as much as 40 empty operations. So a queue that gets its operations one by one
  /// lost most of its time to threads that fell asleep between two operations.
  ///
  /// On one processor, polling is useless, because the thread that adds more work can't run in the meantime.
  var mayLinger: Bool {
    Processors.areSeveral && (thread.map { $0.lingerTime.nanoseconds > 0 } ?? false)
  }

  /// Polls until there is news, until a request waits for a thread, or until polling isn't worthwhile any
  /// more.
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

/// The time that a thread polls for more work before it sleeps.
///
/// Polling for as long as a wake-up costs is never more than twice the cost of the better choice. A wake-up
/// takes 5 µs if the woken thread's processor is awake, and ten times as long if the processor sleeps,
/// especially in a virtual machine. So the duration follows the time that would have sufficed when the thread
/// slept last, as long as that was worth the wake-up. If work arrives just after the thread has fallen
/// asleep, the thread polls longer. If work arrives later, the thread polls less, and then not at all.
struct SpinDuration: Equatable {
  /// The shortest and the longest worthwhile duration.
  ///
  /// The bounds apply regardless of the time that a wake-up took, because the thread may have waited for a
  /// processor.
  static let bounds = 5_000...50_000 as ClosedRange<Int64>

  private(set) var nanoseconds = bounds.lowerBound

  /// Records that work arrived when the thread slept already.
  ///
  /// - Parameters:
  ///   - idleTime: The time that the thread had polled and slept until the work arrived, in nanoseconds.
  ///   - wakeUp: The time that it then took until the thread ran.
  mutating func workCame(after idleTime: Int64, wakeUp: Int64) {
    // The time is doubled, because the work comes from a thread that may have had to be woken as well.
    let most = Self.bounds.upperBound
    let worth = min(max(min(wakeUp, most) * 2, Self.bounds.lowerBound), most)
    if idleTime <= worth {
      nanoseconds = min(max(nanoseconds, idleTime * 2), worth)
    } else {
      nanoseconds = nanoseconds < 1_000 ? 0 : nanoseconds / 2
    }
  }
}

/// The recent success of threads that watch for the end of a wait before they sleep.
///
/// While watching succeeds, each thread watches. After three failures, only one thread in sixteen watches, to
/// find out whether that has changed.
struct WatchHistory: Equatable {
  /// The time that a thread watches, in nanoseconds: the time of an operation that runs immediately, and half
  /// of the cost of a sleep.
  static let nanoseconds: Int64 = 4_000

  /// The number of waits since the last success, whether the threads watched or not.
  private var failures: UInt32 = 0

  /// Records that a wait begins.
  ///
  /// - Returns: Whether to watch. Then a call of ``note(hasPaidOff:)`` follows.
  mutating func next() -> Bool {
    if failures < 3 || failures % 16 == 0 { return true }
    failures &+= 1
    return false
  }

  /// Records the result of a thread that has watched.
  mutating func note(hasPaidOff: Bool) { failures = hasPaidOff ? 0 : failures &+ 1 }
}

extension WatchHistory {
  /// The history of the process.
  ///
  /// This is a hint: if two threads change it at the same time, one of the changes is lost.
  private static let shared = Atomic<UInt32>(0)

  static func change<Result>(_ body: (inout WatchHistory) -> Result) -> Result {
    var history = WatchHistory(failures: shared.load(ordering: .relaxed))
    let old = history
    defer { if history != old { shared.store(history.failures, ordering: .relaxed) } }
    return body(&history)
  }

  /// Returns whether the wait that begins on this thread should watch; on one processor, the awaited work
  /// couldn't run in the meantime.
  static func nextOfProcess() -> Bool { Processors.areSeveral && change { $0.next() } }
}
