import AdvancedOperations
import CoreOperations

extension Simulation {
  /// The contents of a simulation, to be released without its lock.
  private struct Remains {
    var steps: [Step] = []
    var alarms: [Alarm] = []
    var targets: [FaultTarget] = []
    var queues: [any SteppedQueue] = []
  }

  /// Releases the steps, timers and unfinished operations of the simulation, because nothing will
  /// run them any more.
  ///
  /// This calls no code of the program, except in a `deinit`. A task that is suspended, or has not
  /// begun, stays in memory, because Swift releases a task only when it has ended. Such a task
  /// should retain few objects. Therefore operations release their dependencies, and the simulation
  /// releases its log.
  func abandon() {
    keepOperations(false)
    let remains = withState { state in
      state.watched.isAbandoned = true
      return Remains(
        steps: state.takeSteps(),
        alarms: exchange(&state.alarms, with: Alarms()).all,
        targets: exchange(&state.targetsAtReady, with: []),
        queues: state.names.queues
      )
    }
    var members = remains.queues.flatMap { $0.abandon() }
    if remains.steps.isEmpty, remains.alarms.isEmpty, members.isEmpty { return }
    // Cut all links while all operations are retained, so that no release sets off a long chain.
    for alarm in remains.alarms { alarm.timer.cancel() }
    for operation in members { operation.wasAbandoned() }
    claimDomain.abandon()
    let watched = withState { $0.forgetPast() }
    // Suspended tasks may retain operations that have finished, too.
    for operation in watched.compactMap(\.operation) where operation.containingQueue == nil {
      operation.forgetDependencies()
    }
    withExtendedLifetime(remains) {}
    // Release the last operation first, because operations mostly refer to earlier operations.
    while members.popLast() != nil {}
  }

  /// Releases a queue that was used after its simulation was abandoned.
  func abandonLate(_ step: WorkerStep) {
    switch step {
    case .decide(let queue), .barrier(let queue):
      let members = queue.abandon()
      for operation in members { operation.wasAbandoned() }
    case .evaluate, .start, .complete: break
    }
  }

  /// Notes that a queue was created in the simulation.
  func didCreate(_ queue: any SteppedQueue) {
    let isAbandoned = withState { state in
      if !state.watched.isAbandoned { state.names.didCreate(queue) }
      return state.watched.isAbandoned
    }
    // A queue of an abandoned simulation never accepts an operation.
    if isAbandoned { _ = queue.abandon() }
  }

  var isAbandoned: Bool { withState { $0.watched.isAbandoned } }
}

extension Simulation.State {
  /// Releases the history of the simulation; returns the operations that it has seen.
  fileprivate mutating func forgetPast() -> [WatchedOperation] {
    watched.hasLostOperations = true
    log.clear()
    choices = []
    begunKeys = []
    return exchange(&names, with: StepNames()).operations
  }
}
