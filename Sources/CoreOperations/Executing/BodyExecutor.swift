/// Runs the parts of async bodies and conditions: those of all queues whose executor takes no
/// tasks.
///
/// On Linux they stay in the shared pool of threads, from the first part to the last, and so does
/// what inherits a task's executor: child tasks. The pool of the standard library has one thread
/// per processor and never more: code that blocks those, such as tests that wait synchronously,
/// would stop all bodies that have suspended. The shared pool makes room when a thread of its own
/// is blocked.
///
/// Elsewhere Dispatch runs both, and tasks go to the pool of the standard library.
final class BodyExecutor: TaskExecutor {
  static let shared = BodyExecutor()

  /// What the tasks of bodies prefer; nil for no preference.
  ///
  /// A task that prefers an executor looks for the record of that with a lock held, at each switch
  /// (200 instructions, by callgrind).
  static var preferred: (any TaskExecutor)? {
    #if os(Linux) || os(Android)
    shared
    #else
    nil
    #endif
  }

  /// Makes a task on an executor; nil for the one of all bodies.
  static func startTask(
    on executor: (any TaskExecutor)?,
    _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    guard let executor = executor ?? preferred else { return Task { await body() } }
    return Task(executorPreference: executor) { await body() }
  }

  /// Keeps the first job of a task for the worker that makes it, and has all others run.
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if let worker = ThreadOccupant.current, case .keepJob = worker.beginning {
      worker.beginning = .job(job)
    } else {
      unsafe Self.submit(job, for: asUnownedTaskExecutor())
    }
  }

  /// Has a job run soon, on another stack.
  ///
  /// - Parameters:
  ///   - job: The job.
  ///   - executor: The one that the job's task prefers.
  static func submit(_ job: UnownedJob, for executor: UnownedTaskExecutor) {
    #if os(Linux) || os(Android)
    unsafe ElasticThreadPool.shared.enqueue(job, for: executor)
    #else
    globalConcurrentExecutor.enqueue(ExecutorJob(job))
    #endif
  }

  /// Runs a job on this thread.
  static func run(_ job: UnownedJob) {
    unsafe job.runSynchronously(on: shared.asUnownedTaskExecutor())
  }
}
