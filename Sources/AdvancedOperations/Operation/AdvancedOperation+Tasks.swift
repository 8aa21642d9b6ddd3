import CoreOperations

extension AdvancedOperation {
  /// Runs an async body of the operation, and reports its end.
  ///
  /// `execute()` calls this method.
  ///
  /// - Parameters:
  ///   - captured: The task that was created with the operation; nil to create a task here.
  ///   - environment: The environment of the operation.
  ///   - keep: A closure that receives the task, in order to cancel it with the operation. The body may not
  ///     have begun.
  ///   - body: The body, in which the operation and its queue are the current ones.
  final func runTask(
    _ captured: CapturedTask?,
    in environment: OperationEnvironment,
    keeping keep: (Task<Void, Never>) -> Void,
    _ body: @escaping @Sendable () async -> Void
  ) {
    let executor = environment.taskExecutor
    if executor == nil, captured == nil, begin(body, keeping: keep) { return }
    let queue = ThreadContext.queue(of: self)
    let whole: @Sendable () async -> Void = {
      await TaskContext.with(self, queue: queue) { await body() }
      self.bodyEnded()
    }
    if executor == nil, let captured, TaskBeginning.mayRun(of: self) {
      bodyBeganOnStack()
      keep(captured.task)
      captured.begin(whole)
      bodyLeftStack()
    } else {
      bodyBegan()
      keep(captured?.run(on: executor, whole) ?? BodyExecutor.startTask(on: executor, whole))
    }
  }

  /// Creates the task of a body, and begins it here.
  ///
  /// - Returns: Whether this thread may begin the task.
  private func begin(
    _ body: @escaping @Sendable () async -> Void,
    keeping keep: (Task<Void, Never>) -> Void
  ) -> Bool {
    let hasBegun = TaskBeginning.begin(self) { executor in
      Task(executorPreference: executor) {
        await body()
        self.bodyEnded()
      }
    } prepare: { task in
      bodyBeganOnStack()
      keep(task)
    }
    if hasBegun { bodyLeftStack() }
    return hasBegun
  }
}

/// A task that is created in one place and gets its body later, in another place.
///
/// A body should see the task-locals of the task that created its operation, and run with its priority. The
/// standard library copies both only into a task that is created by that task. So the task is created with
/// the operation, and its executor keeps the task's first job until the body is known. Then that job and all
/// later jobs run where the jobs of all bodies run (``BodyExecution``), which costs as much as a task that is
/// created there. A task executor of the environment would receive more jobs than it should, because the
/// launch is the executor that the task prefers. For such an executor, the job runs immediately, and creates
/// the task that runs the body.
struct CapturedTask: Sendable {
  private let launch: Launch
  /// The task, which has to get a body or be discarded.
  let task: Task<Void, Never>

  /// Captures the current task; nil outside of any task, which costs nothing.
  static func capture() -> CapturedTask? {
    // Only a task has a base priority. `withUnsafeCurrentTask` is generic, and costs ten times as much
    // (callgrind).
    Task.basePriority == nil ? nil : CapturedTask(Launch())
  }

  /// Captures the current task again; there has to be a current task.
  static func captureAgain() -> CapturedTask { CapturedTask(Launch()) }

  private init(_ launch: Launch) {
    self.launch = launch
    task = Task(executorPreference: launch) {
      if let body = launch.takeBody() { await body() }
    }
  }

  /// Runs the body in the task, once, and not after ``discard()``.
  ///
  /// - Parameters:
  ///   - executor: The executor of the task's jobs; nil for the executor of all bodies.
  ///   - body: The body, which is released when it has begun.
  /// - Returns: The task that runs the body.
  func run(
    on executor: (any TaskExecutor)?,
    _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    guard let executor else {
      launch.start(body)
      return task
    }
    let made = Locked<Task<Void, Never>?>(nil)
    launch.runHere {
      let task = Task(executorPreference: executor) { await body() }
      made.withLock { $0 = task }
    }
    guard let made = made.withLock({ $0 }) else {
      internalError("a task was created that did not run immediately")
    }
    return made
  }

  /// Runs the body in the task, and its beginning on this thread, once, and not after ``discard()``.
  ///
  /// Call this if ``BodyExecution/mayBegin(_:)`` returned true.
  func begin(_ body: @escaping @Sendable () async -> Void) {
    ThreadContext.withoutAny { launch.runHere(body) }
  }

  /// Lets the task end without a body.
  ///
  /// Call this method unless the body ran.
  func discard() { launch.start(nil) }
}

/// The executor of a ``CapturedTask``, which keeps its first job and passes on all others.
private final class Launch: TaskExecutor {
  private struct State {
    var firstJob: UnownedJob?
    var isStarted = false
    var body: (@Sendable () async -> Void)?
  }

  private let state = Locked(State())

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isKept = state.withLock { state in
      if !state.isStarted { state.firstJob = job }
      return !state.isStarted
    }
    if !isKept { unsafe BodyExecutor.submit(job, for: asUnownedTaskExecutor()) }
  }

  /// Lets the first job run soon, on another call stack.
  func start(_ body: (@Sendable () async -> Void)?) {
    if let job = begin(body) { unsafe BodyExecutor.submit(job, for: asUnownedTaskExecutor()) }
  }

  /// Runs the first job on this thread.
  ///
  /// A body that doesn't suspend has returned then.
  func runHere(_ body: @escaping @Sendable () async -> Void) {
    if let job = begin(body) { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  private func begin(_ body: (@Sendable () async -> Void)?) -> UnownedJob? {
    state.withLock { state in
      state.isStarted = true
      state.body = body
      return state.firstJob.take()
    }
  }

  func takeBody() -> (@Sendable () async -> Void)? { state.withLock { $0.body.take() } }
}
