/// An executor that decides every step by itself; for simulations.
///
/// A queue on such an executor hands it single steps instead of workers: what is decided and what
/// is done because of it are two steps, and others may come in between, as they may on real
/// threads.
package protocol SteppedExecutor: OperationExecutor {
  /// Runs a step, once, and on another stack.
  func enqueue(_ step: WorkerStep, _ body: @escaping @Sendable () -> Void)
}

/// What a step of a queue is about.
package enum WorkerStep: Sendable {
  /// Decide what is done next.
  case decide(Scheduler)
  /// Ask for the conditions of an operation.
  case evaluate(Operation)
  /// Start an operation that was decided on.
  case start(Operation)
  case barrier(Scheduler)
  /// Run a completion block.
  case complete(Operation)
}

extension SchedulerState.Step {
  /// What the step is about; nil when there is nothing to do.
  func described(by scheduler: Scheduler) -> WorkerStep? {
    switch self {
    case .leave, .linger: nil
    case .evaluate(let operation), .review(let operation): .evaluate(operation)
    case .start(let member, _): .start(member.operation)
    case .barrier: .barrier(scheduler)
    }
  }
}

extension WorkerStep {
  /// What the operation or queue calls itself.
  package var label: String {
    switch self {
    case .decide(let scheduler), .barrier(let scheduler): scheduler.owner?.givenName ?? "queue"
    case .evaluate(let operation), .start(let operation), .complete(let operation):
      operation.label
    }
  }
}

extension Scheduler {
  /// The members that have not finished.
  package var unfinishedMembers: [Operation] { members.filter { !$0.isFinished } }
}
