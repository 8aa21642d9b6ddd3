import CoreOperations

extension AdvancedOperation {
  /// Asks conditions with the task-locals and the priority that the body will have.
  ///
  /// That uses up the task that was captured, so it captures itself again for the body first. What
  /// runs finds this operation as the current one, also when it was made in the body of another
  /// one.
  ///
  /// - Parameter ask: Gets the operation; the operation goes on with what it returns.
  /// - Returns: The task, which may not have begun, to be cancelled with the operation.
  final func evaluateInTask(
    _ ask: @escaping @Sendable (AdvancedOperation) async -> Evaluation
  ) -> Task<Void, Never> {
    let executor = environment.taskExecutor
    if let captured = exchangeCaptured(nil) {
      return captured.run(on: executor) {
        self.exchangeCaptured(.captureAgain())?.discard()
        self.taskEnded(await TaskContext.with(self) { await ask(self) })
      }
    }
    if executor == nil {
      let task = TaskBeginning.leave(asking: self) { executor in
        Task(executorPreference: executor) {
          let evaluation = await ask(self)
          // What follows is none of the condition's code.
          TaskContext.disown()
          self.taskEnded(evaluation)
        }
      }
      if let task { return task }
    }
    return BodyExecutor.startTask(on: executor) {
      self.taskEnded(await TaskContext.with(self) { await ask(self) })
    }
  }

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
