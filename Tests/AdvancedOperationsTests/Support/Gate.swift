import AdvancedOperations
import Dispatch
import TestSupport

/// Something that happens once, for threads and tasks to wait for; it stays open.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [@Sendable () -> Void] = []
  }

  private let state = Locked(State())

  var isOpen: Bool { state.withLock { $0.isOpen } }

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for wake in waiting { wake() }
  }

  /// Blocks the thread until the gate is open; for bodies of operations only.
  func pass() {
    let semaphore = DispatchSemaphore(value: 0)
    whenOpen { semaphore.signal() }
    semaphore.wait()
  }

  /// Suspends the task until the gate is open.
  func opened() async {
    await withCheckedContinuation { continuation in whenOpen { continuation.resume() } }
  }

  private func whenOpen(_ wake: @escaping @Sendable () -> Void) {
    let isOpen = state.withLock { state in
      if !state.isOpen { state.waiting.append(wake) }
      return state.isOpen
    }
    if isOpen { wake() }
  }
}

/// Blocks the thread until the current task is cancelled, without suspending; for bodies only.
///
/// Not in a loop: two of those would take both threads from the tests that are to cancel them.
func blockUntilCancelled() async {
  let gate = Gate()
  await withTaskCancellationHandler {
    gate.pass()
  } onCancel: {
    gate.open()
  }
}

/// A gate that opens when it was counted down to nothing.
final class Countdown: Sendable {
  private let left: Locked<Int>
  let done = Gate()

  init(_ count: Int) {
    left = Locked(count)
    if count == 0 { done.open() }
  }

  func count() {
    let isLast = left.withLock { left in
      left -= 1
      return left == 0
    }
    if isLast { done.open() }
  }
}

/// Runs closures at the same time, each on a thread of its own, and returns when all have.
func together(_ bodies: (@Sendable () -> Void)...) async {
  let start = Countdown(bodies.count)
  let end = Countdown(bodies.count)
  for body in bodies {
    Threads.launch {
      start.count()
      start.done.pass()
      body()
      end.count()
    }
  }
  await end.done.opened()
}

/// Runs a closure that may block on a thread of its own.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
  await Threads.run(body)
}

/// Runs the jobs of tasks when the test says so, on the test's thread: until their first
/// suspension.
final class ManualTasks: TaskExecutor {
  private let jobs = Locked<[UnownedJob]>([])

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  func runAll() {
    while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
      unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
