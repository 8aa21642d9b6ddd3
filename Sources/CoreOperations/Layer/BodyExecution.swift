/// How the layer runs code on behalf of an operation: the core finds the operation and its queue as
/// the current ones there.
package enum BodyExecution {
  /// Runs the synchronous body of an operation on this thread.
  ///
  /// Costs a plain store where its worker is at that operation.
  package static func run(of operation: Operation, _ body: () -> Void) {
    ThreadOccupant.runBody(of: operation, body)
  }

  // MARK: In tasks

  /// Runs code of an operation in the task of the caller.
  ///
  /// - Parameters:
  ///   - operation: The operation.
  ///   - queue: Its queue, if the caller knows; nil to look.
  ///   - body: The code.
  /// - Returns: What the code returns.
  nonisolated(nonsending) package static func inTask<Result>(
    of operation: Operation,
    queue: OperationQueue? = nil,
    _ body: nonisolated(nonsending) () async throws -> Result
  ) async rethrows -> Result {
    try await TaskOccupant.with(operation, queue: queue, body)
  }

  /// What the running task does from here on is none of its operation's code: that doesn't wait
  /// for the end of the task any more.
  package static func operationLeavesTask() { TaskOccupant.disown() }

  /// The queue of an operation whose body this thread runs, found without asking the queue itself.
  package static func queue(of operation: Operation) -> OperationQueue? {
    ThreadOccupant.queue(of: operation)
  }

  /// Makes a task on an executor; nil for the one of all bodies.
  package static func startTask(
    on executor: (any TaskExecutor)?,
    _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    BodyExecutor.startTask(on: executor, body)
  }

  /// What the tasks of bodies prefer where the environment says nothing; nil for no preference.
  package static var preferredExecutor: (any TaskExecutor)? { BodyExecutor.preferred }

  /// Has a job run soon where those of all bodies run, on another stack.
  ///
  /// - Parameters:
  ///   - job: The job.
  ///   - executor: The one that the job's task prefers.
  package static func submit(_ job: UnownedJob, for executor: UnownedTaskExecutor) {
    unsafe BodyExecutor.submit(job, for: executor)
  }

  // MARK: On the worker that starts the operation

  /// Whether the body of an operation may begin here: whether this is a worker of the shared pool
  /// that has started the operation, and does nothing else.
  package static func mayBegin(_ operation: Operation) -> Bool {
    TaskBeginning.mayRun(of: operation)
  }

  /// Makes a task that is the body of an operation, and runs it here up to where it suspends for
  /// the first time; does nothing where ``mayBegin(_:)`` says no.
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
  package static func leaveBeginning(
    asking operation: Operation,
    _ make: (any TaskExecutor) -> Task<Void, Never>
  ) -> Task<Void, Never>? {
    TaskBeginning.leave(asking: operation, make)
  }
}
