import CoreOperations
import Dispatch
import TestSupport

/// Keeps workers until the test runs them, on the test's thread.
final class ManualExecutor: OperationExecutor {
  private let line = Locked<[@Sendable () -> Void]>([])
  let requests = Tally()
  let operationsPerWorker: Int

  init(operationsPerWorker: Int = 256) { self.operationsPerWorker = operationsPerWorker }

  var waiting: Int { line.withLock { $0.count } }

  func enqueue(_ worker: @escaping @Sendable () -> Void) {
    requests.add()
    line.withLock { $0.append(worker) }
  }

  /// Runs the oldest worker and says whether there was one.
  @discardableResult
  func runOne() -> Bool {
    guard let worker = line.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return false }
    worker()
    return true
  }

  /// Runs workers until there are none.
  func runAll() { while runOne() {} }
}

/// The example in the documentation of ``OperationExecutor``.
struct OneThread: OperationExecutor {
  let queue = DispatchQueue(label: "one thread")
  func enqueue(_ worker: @escaping @Sendable () -> Void) { queue.async(execute: worker) }
}

/// Runs the jobs of tasks when the test says so, on the test's thread: until their first
/// suspension.
final class ManualTasks: TaskExecutor {
  private let manual = ManualExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    manual.enqueue { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  func runAll() { manual.runAll() }
}
