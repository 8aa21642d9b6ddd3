import CoreOperations

extension AdvancedOperation {
  /// Runs an async body of the operation, and reports its end; called by `execute()`.
  ///
  /// - Parameters:
  ///   - captured: The task that was made with the operation; nil to make one here.
  ///   - environment: That of the operation.
  ///   - keep: Gets the task, to be cancelled with the operation; the body may not have begun.
  ///   - body: Finds the operation and its queue as the current ones.
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

  /// Makes the task of a body, and begins it here.
  ///
  /// - Returns: Whether this thread may.
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

/// A task that is made in one place and gets its body later, in another one.
///
/// A body is to see the task-locals, and run with the priority, of the task that made its
/// operation. The standard library copies both only into a task that is created there and then. So
/// the task is created with the operation, and its executor keeps the task's first job until the
/// body is known. Then that job and all later ones go where those of all bodies go
/// (``BodyExecution``), which costs what a task costs that is made there. A task executor of the
/// environment would see more jobs than it should, because this isn't the executor that the task
/// prefers: for one of those, the job runs at once, and makes the task that runs the body.
struct CapturedTask: Sendable {
  private let launch: Launch
  /// Has to get a body, or to be discarded.
  let task: Task<Void, Never>

  /// Captures the current task; nil outside of any, which costs nothing.
  static func capture() -> CapturedTask? {
    // Only a task has one. `withUnsafeCurrentTask` is generic, and costs ten times as much
    // (callgrind).
    Task.basePriority == nil ? nil : CapturedTask(Launch())
  }

  /// Captures the current task, which there has to be, a second time.
  static func captureAgain() -> CapturedTask { CapturedTask(Launch()) }

  private init(_ launch: Launch) {
    self.launch = launch
    task = Task(executorPreference: launch) {
      if let body = launch.takeBody() { await body() }
    }
  }

  /// Runs the body in the task; once, and not after ``discard()``.
  ///
  /// - Parameters:
  ///   - executor: Gets the task's jobs; nil for the one of all bodies.
  ///   - body: Released when it began.
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
    guard let made = made.withLock({ $0 }) else { trap("a captured task did not run at once") }
    return made
  }

  /// Runs the body in the task, and its beginning here; once, and not after ``discard()``.
  ///
  /// To be called if ``BodyExecution/mayBegin(_:)`` says so.
  func begin(_ body: @escaping @Sendable () async -> Void) {
    ThreadContext.withoutAny { launch.runHere(body) }
  }

  /// Lets the task end without a body; has to be called unless it ran.
  func discard() { launch.start(nil) }
}

/// The executor of a ``CapturedTask``: keeps its first job, and passes on all others.
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

  /// Lets the first job run soon, on another stack.
  func start(_ body: (@Sendable () async -> Void)?) {
    if let job = begin(body) { unsafe BodyExecutor.submit(job, for: asUnownedTaskExecutor()) }
  }

  /// Runs the first job on this thread; a body that doesn't suspend has returned then.
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
