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
