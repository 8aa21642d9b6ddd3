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
package final class BodyExecutor: TaskExecutor {
  static let shared = BodyExecutor()

  /// What the tasks of bodies prefer; nil for no preference.
  ///
  /// A task that prefers an executor looks for the record of that with a lock held, at each switch
  /// (200 instructions, by callgrind).
  package static var preferred: (any TaskExecutor)? {
    #if os(Linux) || os(Android)
    shared
    #else
    nil
    #endif
  }

  /// Makes a task on an executor; nil for the one of all bodies.
  package static func startTask(
    on executor: (any TaskExecutor)?,
    _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    guard let executor = executor ?? preferred else { return Task { await body() } }
    return Task(executorPreference: executor) { await body() }
  }

  /// Keeps the first job of a task for the worker that makes it, and has all others run.
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if let worker = ThreadContext.current, case .keepJob = worker.beginning {
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
  package static func submit(_ job: UnownedJob, for executor: UnownedTaskExecutor) {
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

/// The first part of a task, up to where it suspends for the first time, to be run by a worker.
///
/// A task that is made on a worker would begin on another thread, to be woken, for a body that may
/// never suspend. That costs more than all else about its operation, so a worker of the shared pool
/// runs the beginning itself. It does so as if it were that other thread: what the worker is at
/// isn't visible there, and a body that blocks its thread makes room for another. What comes after
/// the first suspension goes through the line of the pool: see ``BodyExecutor``.
///
/// The task is there before its beginning runs, so that it can be cancelled meanwhile. That is what
/// `Task.immediate` has no way for.
package struct TaskBeginning: ~Copyable {
  /// The task, whose beginning has not run.
  let task: Task<Void, Never>
  private let job: UnownedJob

  /// Whether the body of an operation may begin here: whether this is a worker of the shared pool
  /// that has started the operation, and does nothing else.
  package static func mayRun(of operation: Operation) -> Bool { worker(running: operation) != nil }

  private static func worker(running operation: Operation) -> ThreadContext? {
    guard let worker = ThreadContext.worker, worker.isAt(operation) else { return nil }
    return worker
  }

  /// Makes a task that is the body of an operation, and begins here; nil unless it may.
  ///
  /// - Parameters:
  ///   - operation: The task finds it and its queue as the current ones.
  ///   - make: Makes the task, with this preference for an executor.
  init?(of operation: Operation, _ make: (any TaskExecutor) -> Task<Void, Never>) {
    guard let worker = Self.worker(running: operation) else { return nil }
    // Bound here and inherited: to bind it in the task takes five more functions that may suspend.
    let context = unsafe TaskContext(operation, queue: worker.queue)
    task = TaskContext.$current.withValue(context) { worker.makeTask(make) }
    guard let job = worker.takeBeginning() else { trap("a task was made without a job") }
    self.job = job
    context.own(task)
  }

  /// Runs the beginning; a body that doesn't suspend has ended when this returns.
  consuming func run() {
    let job = job
    ThreadContext.withoutAny { BodyExecutor.run(job) }
  }

  /// Makes a task that is the body of an operation, and runs it here up to where it suspends for
  /// the first time; does nothing unless ``mayRun(of:)``.
  ///
  /// - Parameters:
  ///   - operation: The task finds it and its queue as the current ones.
  ///   - make: Makes the task, with this preference for an executor.
  ///   - prepare: Gets the task before it begins.
  /// - Returns: Whether the body has begun; one that doesn't suspend has also ended.
  package static func begin(
    _ operation: Operation,
    _ make: (any TaskExecutor) -> Task<Void, Never>,
    prepare: (Task<Void, Never>) -> Void
  ) -> Bool {
    guard let beginning = TaskBeginning(of: operation, make) else { return false }
    prepare(beginning.task)
    beginning.run()
    return true
  }

  /// Makes a task that answers what a worker asks about an operation, and finds that as the current
  /// one: the worker runs the beginning, once it doesn't count as asking any more.
  ///
  /// - Parameters:
  ///   - operation: The operation whose conditions are evaluated.
  ///   - make: Makes the task, with this preference for an executor.
  /// - Returns: The task; nil unless this is a worker of the shared pool that asks about the
  ///   operation.
  package static func leave(
    asking operation: Operation,
    _ make: (any TaskExecutor) -> Task<Void, Never>
  ) -> Task<Void, Never>? {
    guard let worker = ThreadContext.worker, case .none = worker.beginning,
      case .evaluation(of: ObjectIdentifier(operation)) = worker.work
    else { return nil }
    let context = unsafe TaskContext(operation, queue: worker.queue)
    let task = TaskContext.$current.withValue(context) { worker.makeTask(make) }
    context.own(task)
    return task
  }
}

extension ThreadContext {
  /// The one of this thread if that is a worker of the shared pool, called by nothing but the pool.
  fileprivate static var worker: ThreadContext? {
    guard let context = current, context.mayBeginTasks else { return nil }
    return context
  }

  fileprivate func makeTask(
    _ make: (any TaskExecutor) -> Task<Void, Never>
  ) -> Task<Void, Never> {
    beginning = .keepJob
    return make(BodyExecutor.shared)
  }

  /// Takes the first job of the task that this thread has made last, if it has not been run.
  func takeBeginning() -> UnownedJob? {
    guard case .job(let job) = beginning else { return nil }
    beginning = .none
    return job
  }
}
