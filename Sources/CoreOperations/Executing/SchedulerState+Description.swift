extension SchedulerState.Step {
  /// What the step is about, for executors that decide every step; nil when there is nothing to do.
  func described(by queue: any SteppedQueue) -> WorkerStep? {
    switch self {
    case .leave, .linger: nil
    case .evaluate(let operation): .evaluate(operation)
    case .start(let member, _): .start(member.operation)
    case .barrier: .barrier(queue)
    case .run, .end: trap("a queue with an executor of steps had a closure")
    }
  }
}
