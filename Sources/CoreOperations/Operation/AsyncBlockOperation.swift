/// The operation that `addOperation` creates from an async closure, which finishes when the closure has
/// returned.
final class AsyncBlockOperation: Operation, @unchecked Sendable {
  // Sendable: the added state is behind a lock.
  private struct State {
    var body: (@Sendable () async -> Void)?
    var task: Task<Void, Never>?
    var isExecuting = false
    var isFinished = false
  }

  private let state: Locked<State>

  init(_ body: @escaping @Sendable () async -> Void) {
    state = Locked(State(body: body))
    super.init()
  }

  override var isAsynchronous: Bool { true }
  override var isExecuting: Bool { state.withLock { $0.isExecuting } }
  override var isFinished: Bool { state.withLock { $0.isFinished } }

  override func start() {
    let body = state.withLock { state in
      let body = state.body
      state.body = nil
      if !isCancelledFlag { state.isExecuting = true }
      return body
    }
    guard let body, !isCancelledFlag else {
      end()
      return
    }
    let executor = withLinks { $0.scheduler }?.executor as? any TaskExecutor
    if executor == nil, let beginning = beginning(of: body) {
      keep(beginning.task)
      beginning.run()
      return
    }
    let queue = ThreadContext.queueRunningHere
    keep(
      BodyExecutor.startTask(on: executor) {
        await TaskContext.with(self, queue: queue) { await body() }
        self.end()
      }
    )
  }

  private func beginning(of body: @escaping @Sendable () async -> Void) -> TaskBeginning? {
    TaskBeginning(of: self) { executor in
      Task(executorPreference: executor) {
        await body()
        self.end()
      }
    }
  }

  private func keep(_ task: Task<Void, Never>) {
    state.withLock { if !$0.isFinished { $0.task = task } }
    if isCancelledFlag { task.cancel() }
  }

  override func cancelTask() { state.withLock { $0.task }?.cancel() }

  private func end() {
    let task = state.withLock { state in
      state.isExecuting = false
      state.isFinished = true
      return state.task.take()
    }
    withExtendedLifetime(task) {}
    didChangeValue(forKey: "isFinished")
  }
}

extension Operation {
  /// Whether the operation is an async closure of `addOperation` that is executing.
  package final var executesAsyncClosure: Bool { self is AsyncBlockOperation && isExecuting }
}
