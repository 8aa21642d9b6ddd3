#if os(Linux)
import Dispatch
import Glibc
import Synchronization

/// What a thread of the pool is wanted for.
@safe enum PoolRequest: Sendable {
  /// A worker of a queue, or another closure.
  case worker(@Sendable () -> Void)
  /// A part of a task, and the executor that the task prefers.
  case job(UnownedJob, UnownedTaskExecutor)
}

/// One thread of the pool.
///
/// `next` is written by whoever owns the thread at that moment: itself while
/// it is busy, and the pool, under its lock, while it is idle.
final class PoolThread: @unchecked Sendable {
  // Sendable: see above; `sampled` belongs to the monitor, `runsJob` to the thread, the rest is
  // immutable once launched.
  var next: PoolRequest?
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
  private let identity = Locked(Identity())
  private var sampled: Int64 = -1

  private struct Identity {
    var clock: clockid_t?
    var path = ""
  }

  init(first: PoolRequest) { next = first }

  func launch(in pool: ElasticThreadPool) {
    DetachedThread.launch {
      self.identify()
      Self.current.value = self
      pool.run(self)
    }
  }

  /// Does what there is to do, and lets go of it before it returns.
  func workOnce() -> Bool {
    guard let request = next.take() else { return false }
    wanted.store(false, ordering: .relaxed)
    switch request {
    case .worker(let work): work()
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

  func wake() { semaphore.signal() }

  /// Returns whether it was woken in time.
  func sleep(for interval: DispatchTimeInterval) -> Bool {
    semaphore.wait(timeout: .now() + interval) == .success
  }

  func sleepUntilWoken() { semaphore.wait() }

  private func identify() {
    var clock = clockid_t()
    let hasClock = unsafe pthread_getcpuclockid(pthread_self(), &clock) == 0
    var buffer = [CChar](repeating: 0, count: 64)
    let length = unsafe readlink("/proc/thread-self", &buffer, 63)
    let bytes = buffer.prefix(max(0, length)).map { UInt8(bitPattern: $0) }
    let link = String(decoding: bytes, as: UTF8.self)
    identity.withLock { identity in
      if hasClock { identity.clock = clock }
      identity.path = "/proc/\(link)/stat"
    }
  }

  /// Whether the thread used no CPU time since the last call and is asleep in the kernel.
  ///
  /// For the monitor only. A thread that ends meanwhile has no clock any more: not blocked.
  func looksBlocked() -> Bool {
    let (clock, path) = identity.withLock { ($0.clock, $0.path) }
    guard let clock else { return false }
    var time = timespec()
    guard unsafe clock_gettime(clock, &time) == 0 else { return false }
    let now = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    defer { sampled = now }
    return now == sampled && Self.isAsleep(path)
  }

  /// The state field of `/proc/…/stat`: the letter after the command's closing parenthesis.
  private static func isAsleep(_ path: String) -> Bool {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return true }
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 256)
    let length = unsafe read(file, &buffer, buffer.count)
    guard length > 0, let parenthesis = buffer[..<length].lastIndex(of: UInt8(ascii: ")")) else {
      return true
    }
    let index = parenthesis + 2
    return index >= length || buffer[index] != UInt8(ascii: "R")
  }
}
#endif
