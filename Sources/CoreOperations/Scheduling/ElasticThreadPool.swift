#if os(Linux)
import Dispatch
import Glibc

/// The shared pool of threads: as many as there are cores, and one more for each that is blocked.
///
/// A thread that sleeps in a body (synchronous I/O, a semaphore, `sleep`) would otherwise keep its
/// core from the operations behind it. While a request is waiting, a monitor looks every
/// millisecond: a thread that consumed no CPU time since the last look and that the kernel reports
/// as sleeping is blocked, and makes room for another. The kernel is asked as well because a thread
/// that merely waits for a core consumes no CPU time either. It also asks the workers on the busy
/// threads to leave after the operation at hand, when a request has waited for two looks.
final class ElasticThreadPool: OperationExecutor {
  /// Growth ends here, whatever is blocked.
  static let maximumThreadCount = 512

  static let shared = ElasticThreadPool(
    coreCount: max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
  )

  private struct State {
    var requests = FirstInFirstOut<@Sendable () -> Void>()
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

  init(coreCount: Int) { self.coreCount = coreCount }

  func enqueue(_ worker: @escaping @Sendable () -> Void) {
    switch state.withLock({ place(worker, in: &$0) }) {
    case .handed(let thread): thread.wake()
    case .spawn(let thread): thread.launch(in: self)
    case .waiting(let startMonitor): if startMonitor { launchMonitor() }
    }
  }

  private func place(
    _ worker: @escaping @Sendable () -> Void,
    in state: inout State
  ) -> Placement {
    if state.busy.count < allowed(state) && state.requests.isEmpty {
      if let thread = state.idle.popLast() {
        thread.next = worker
        state.busy[ObjectIdentifier(thread)] = thread
        return .handed(thread)
      }
      let thread = PoolThread(first: worker)
      state.busy[ObjectIdentifier(thread)] = thread
      return .spawn(thread)
    }
    state.requests.append(worker)
    defer { state.isMonitored = true }
    return .waiting(startMonitor: !state.isMonitored)
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
        if state.busy.count <= allowed(state), let request = state.requests.popFirst() {
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
      var pause = timespec(tv_sec: 0, tv_nsec: 1_000_000)
      unsafe nanosleep(&pause, nil)
      let busy = state.withLock { Array($0.busy.values) }
      let blocked = busy.count { $0.looksBlocked() }
      let (spawned, woken, isDone) = state.withLock { state -> ([PoolThread], [PoolThread], Bool) in
        state.blockedCount = blocked
        var spawned: [PoolThread] = []
        var woken: [PoolThread] = []
        while state.busy.count < allowed(state), let request = state.requests.popFirst() {
          if let thread = state.idle.popLast() {
            thread.next = request
            state.busy[ObjectIdentifier(thread)] = thread
            woken.append(thread)
          } else {
            let thread = PoolThread(first: request)
            state.busy[ObjectIdentifier(thread)] = thread
            spawned.append(thread)
          }
        }
        waitingTicks = state.requests.isEmpty ? 0 : waitingTicks + 1
        if waitingTicks > 1 {
          for thread in state.busy.values { thread.want() }
        }
        let isQuiet = state.requests.isEmpty && state.busy.count <= coreCount
        quietTicks = isQuiet ? quietTicks + 1 : 0
        guard quietTicks > 20 else { return (spawned, woken, false) }
        state.isMonitored = false
        state.blockedCount = 0
        return (spawned, woken, true)
      }
      for thread in spawned { thread.launch(in: self) }
      for thread in woken { thread.wake() }
      if isDone { return }
    }
  }
}
#endif
