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
struct TaskBeginning: ~Copyable {
  /// The task, whose beginning has not run.
  let task: Task<Void, Never>
  private let job: UnownedJob

  /// Whether the body of an operation may begin here: whether this is a worker of the shared pool
  /// that has started the operation, and does nothing else.
  static func mayRun(of operation: Operation) -> Bool { worker(running: operation) != nil }

  private static func worker(running operation: Operation) -> ThreadOccupant? {
    guard let worker = ThreadOccupant.worker, worker.isAt(operation) else { return nil }
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
    let occupant = unsafe TaskOccupant(operation, queue: worker.queue)
    task = TaskOccupant.$current.withValue(occupant) { worker.makeTask(make) }
    guard let job = worker.takeBeginning() else { trap("a task was made without a job") }
    self.job = job
    occupant.own(task)
  }

  /// Runs the beginning; a body that doesn't suspend has ended when this returns.
  consuming func run() {
    let job = job
    ThreadOccupant.withoutAny { BodyExecutor.run(job) }
  }

  /// Makes a task that answers what a worker asks about an operation, and finds that as the current
  /// one: the worker runs the beginning, once it doesn't count as asking any more.
  ///
  /// - Parameters:
  ///   - operation: The operation whose conditions are evaluated.
  ///   - make: Makes the task, with this preference for an executor.
  /// - Returns: The task; nil unless this is a worker of the shared pool that asks about the
  ///   operation.
  static func leave(
    asking operation: Operation,
    _ make: (any TaskExecutor) -> Task<Void, Never>
  ) -> Task<Void, Never>? {
    guard let worker = ThreadOccupant.worker, unsafe worker.question?.operation === operation,
      case .none = worker.beginning
    else { return nil }
    let occupant = unsafe TaskOccupant(operation, queue: worker.queue)
    let task = TaskOccupant.$current.withValue(occupant) { worker.makeTask(make) }
    occupant.own(task)
    return task
  }
}

extension ThreadOccupant {
  /// The one of this thread if that is a worker of the shared pool, called by nothing but the pool.
  fileprivate static var worker: ThreadOccupant? {
    guard let occupant = current, occupant.mayBeginTasks else { return nil }
    return occupant
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
