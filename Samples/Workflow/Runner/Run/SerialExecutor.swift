public import AdvancedOperations
import Dispatch

/// Runs all work of a run in one order, one piece at a time.
///
/// With one step at a time, steps that are ready together start in the order of the file: on the shared
/// pool their conditions are evaluated on several threads, and any of them may be the first to hold.
public final class SerialExecutor: OperationExecutor, TaskExecutor {
  private let queue = DispatchQueue(label: "steps in order")

  /// Creates an executor.
  public init() {}

  /// Runs a worker after all that came before.
  public func enqueue(_ worker: @escaping @Sendable () -> Void) { queue.async(execute: worker) }

  /// Runs a part of a task after all that came before.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
