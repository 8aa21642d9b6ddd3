import Synchronization

/// What a task runs, and what inherits its task-locals: the operation whose code it is, and the
/// queue.
final class TaskOccupant: Sendable {
  @TaskLocal static var current: TaskOccupant?

  let operation: Operation
  let queue: OperationQueue?
  /// Set before the task runs.
  private let task: Atomic<Int>

  /// Whether the running task is the one whose end the operation waits for, and not one that it
  /// made.
  var isOwnTask: Bool {
    // Outside of any task, what a thread inherits isn't its own either.
    let current = TaskIdentity.current
    return current != nil && current?.hash == task.load(ordering: .relaxed)
  }

  /// Of a task that isn't made yet, and will be the one whose end the operation waits for.
  init(_ operation: Operation, queue: OperationQueue?, task: Int = 0) {
    self.operation = operation
    self.queue = queue
    self.task = Atomic(task)
  }

  /// The operation doesn't wait for the end of the running task any more.
  static func disown() { current?.task.store(0, ordering: .relaxed) }

  /// The task was made, and has not run.
  ///
  /// It reads this in a job that is run later, and so is ordered behind it.
  func own(_ made: Task<Void, Never>) { task.store(made.hashValue, ordering: .relaxed) }

  /// Runs a body on behalf of an operation, in the task of the caller.
  nonisolated(nonsending) static func with<Result>(
    _ operation: Operation,
    queue: OperationQueue? = nil,
    _ body: nonisolated(nonsending) () async throws -> Result
  ) async rethrows -> Result {
    let occupant = TaskOccupant(
      operation,
      queue: queue ?? operation.withLinks { $0.scheduler }?.owner,
      task: TaskIdentity.current?.hash ?? 0
    )
    return try await $current.withValue(occupant, operation: body)
  }
}

/// Which task it is; compared, and never followed.
private struct TaskIdentity {
  // That of a task that is over may be given to another one, which then inherited its locals after
  // the operation had ended, and its waits are no operation's.
  let hash: Int

  static var current: TaskIdentity? {
    unsafe withUnsafeCurrentTask { unsafe $0.map { unsafe TaskIdentity(hash: $0.hashValue) } }
  }
}
