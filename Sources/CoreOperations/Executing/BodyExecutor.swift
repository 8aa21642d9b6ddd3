/// An executor that runs the jobs of async bodies and conditions for all queues whose executor isn't a
/// `TaskExecutor`.
///
/// On Linux the jobs stay in the shared thread pool, from the first job to the last. Child tasks, which
/// inherit the executor, stay there as well. The pool of the standard library has one thread per processor
/// and never more. Code that blocks these threads, such as tests that wait synchronously, would stop all
/// bodies that have suspended. The shared pool starts another thread when one of its threads is blocked.
///
/// On other systems Dispatch runs both, and tasks run in the pool of the standard library.
package final class BodyExecutor: TaskExecutor {
  static let shared = BodyExecutor()

  /// The preferred executor of the tasks of bodies; nil for no preference.
  ///
  /// A task that prefers an executor looks up the record of the preference with a lock held, at each switch
  /// (200 instructions, by callgrind).
  package static var preferred: (any TaskExecutor)? {
    #if os(Linux) || os(Android)
    shared
    #else
    nil
    #endif
  }

  /// Creates a task on an executor; nil for the executor of all bodies.
  package static func startTask(
    on executor: (any TaskExecutor)?,
    _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    guard let executor = executor ?? preferred else { return Task { await body() } }
    return Task(executorPreference: executor) { await body() }
  }

  /// Keeps the first job of a task for the worker that creates the task, and submits all other jobs.
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if let worker = ThreadContext.current, case .keepJob = worker.beginning {
      worker.beginning = .job(job)
    } else {
      unsafe Self.submit(job, for: asUnownedTaskExecutor())
    }
  }

  /// Submits a job, which runs soon on another call stack.
  ///
  /// - Parameters:
  ///   - job: The job.
  ///   - executor: The executor that the job's task prefers.
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

/// The first job of a task, up to its first suspension, which a worker runs.
///
/// A task that is created on a worker would begin on another thread, which has to be woken, although its body
/// may never suspend. The switch to another thread would be the most expensive part of the operation, so a
/// worker of the shared pool runs the beginning itself. The worker runs the beginning as if it were on that
/// other thread. The worker's current work isn't visible there, and a body that blocks its thread makes the
/// pool start another thread. The jobs after the first suspension wait in the queue of the pool: see
/// ``BodyExecutor``.
///
/// The task exists before its beginning runs, so that it can be cancelled in the meantime. `Task.immediate`
/// doesn't offer that.
/// `Task.immediate` has no way for.
package struct TaskBeginning: ~Copyable {
  /// The task, whose beginning has not run.
  let task: Task<Void, Never>
  private let job: UnownedJob

  /// Returns whether the body of an operation may begin on this thread.
  ///
  /// The thread has to be a worker of the shared pool that has started the operation, and that runs no other
  /// code.
  package static func mayRun(of operation: Operation) -> Bool { worker(running: operation) != nil }

  private static func worker(running operation: Operation) -> ThreadContext? {
    guard let worker = ThreadContext.worker, worker.isAt(operation) else { return nil }
    return worker
  }

  /// Creates a task that is the body of an operation, in order to begin it here; nil unless the thread may
  /// begin it.
  ///
  /// - Parameters:
  ///   - operation: The operation. In the task, this operation and its queue are the current ones.
  ///   - make: A closure that creates the task with the given executor preference.
  init?(of operation: Operation, _ make: (any TaskExecutor) -> Task<Void, Never>) {
    guard let worker = Self.worker(running: operation) else { return nil }
    // The context is bound here and inherited, because binding it in the task takes five more functions that
    // may suspend.
    let context = unsafe TaskContext(operation, queue: worker.queue)
    task = TaskContext.$current.withValue(context) { worker.makeTask(make) }
    guard let job = worker.takeBeginning() else {
      internalError("a task was created without a job")
    }
    self.job = job
    context.own(task)
  }

  /// Runs the beginning.
  ///
  /// A body that doesn't suspend has ended when this method returns.
  consuming func run() {
    let job = job
    ThreadContext.withoutAny { BodyExecutor.run(job) }
  }

  /// Creates a task that is the body of an operation, and runs it here up to its first suspension.
  ///
  /// The method does nothing unless ``mayRun(of:)`` returns true.
  ///
  /// - Parameters:
  ///   - operation: The operation. In the task, this operation and its queue are the current ones.
  ///   - make: A closure that creates the task with the given executor preference.
  ///   - prepare: A closure that receives the task before it begins.
  /// - Returns: Whether the body has begun. A body that doesn't suspend has also ended.
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

  /// Creates a task that evaluates the conditions of an operation on behalf of a worker, with the operation
  /// as the current one.
  ///
  /// The worker runs the beginning of the task when it isn't the queue's service worker any more.
  ///
  /// - Parameters:
  ///   - operation: The operation whose conditions are evaluated.
  ///   - make: A closure that creates the task with the given executor preference.
  /// - Returns: The task; nil unless this thread is a worker of the shared pool that evaluates the operation.
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
  /// The context of this thread if the thread is a worker of the shared pool, called only by the pool.
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

  /// Takes the first job of the task that this thread has created last, if the job has not been run.
  func takeBeginning() -> UnownedJob? {
    guard case .job(let job) = beginning else { return nil }
    beginning = .none
    return job
  }
}
