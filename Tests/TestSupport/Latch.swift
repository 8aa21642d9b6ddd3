import CoreOperations
import Dispatch

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// Something that happens once, for threads and tasks to wait for; it stays open.
package final class Latch: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [@Sendable () -> Void] = []
  }

  private let state = Locked(State())

  package init() {}

  package var isOpen: Bool { state.withLock { $0.isOpen } }

  package func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for wake in waiting { wake() }
  }

  /// Blocks the thread until the gate is open; for bodies of operations only.
  package func pass() {
    let semaphore = DispatchSemaphore(value: 0)
    whenOpen { semaphore.signal() }
    semaphore.wait()
  }

  /// Suspends the task until the gate is open.
  package func opened() async {
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
package func blockUntilCancelled() async {
  let gate = Latch()
  await withTaskCancellationHandler {
    gate.pass()
  } onCancel: {
    gate.open()
  }
}

/// A gate that opens when it was counted down to nothing.
package final class Countdown: Sendable {
  private let left: Locked<Int>
  package let done = Latch()

  package init(_ count: Int) {
    left = Locked(count)
    if count == 0 { done.open() }
  }

  package func count() {
    let isLast = left.withLock { left in
      left -= 1
      return left == 0
    }
    if isLast { done.open() }
  }
}

/// Runs closures at the same time, each on a thread of its own, and returns when all have.
package func together(_ bodies: (@Sendable () -> Void)...) async {
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
package func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
  await Threads.run(body)
}

/// Returns once a condition that nothing reports is satisfied, which a separate thread checks.
///
/// The pauses leave the processors to other tests. Without them, a test that waits for a thread of tasks keeps a
/// processor busy until hundreds of other tests have ended.
package func eventually(_ isSatisfied: @escaping @Sendable () -> Bool) async {
  await Threads.run { while !isSatisfied() { usleep(500) } }
}

/// Runs the jobs of tasks when the test says so, on the test's thread: until their first
/// suspension.
package final class ManualTasks: TaskExecutor {
  private let jobs = Locked<[UnownedJob]>([])

  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  package func runAll() {
    while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
      unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
