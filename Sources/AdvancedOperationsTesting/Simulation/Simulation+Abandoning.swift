import AdvancedOperations
import CoreOperations

extension Simulation {
  /// What a simulation held, to be released without its lock.
  private struct Remains {
    var steps: [Step] = []
    var alarms: [Alarm] = []
    var targets: [FaultTarget] = []
    var queues: [any SteppedQueue] = []
  }

  /// Nothing runs the simulation any more: releases its steps, timers, and the operations that have
  /// not finished.
  ///
  /// Code of the program isn't called, except by a `deinit`. A task that is suspended, or has not
  /// begun, stays in memory, because Swift releases a task only when it has ended. So what such a
  /// task can reach is kept small: operations lose their dependencies, and the simulation its log.
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
    // Operations that have finished are reached by suspended tasks, too.
    for operation in watched.compactMap(\.operation) where operation.containingQueue == nil {
      operation.forgetDependencies()
    }
    withExtendedLifetime(remains) {}
    // Operations mostly refer to earlier ones.
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

  /// A queue was created that the simulation runs.
  func didCreate(_ queue: any SteppedQueue) {
    let isAbandoned = withState { state in
      if !state.watched.isAbandoned { state.names.didCreate(queue) }
      return state.watched.isAbandoned
    }
    // It takes in nothing from the beginning.
    if isAbandoned { _ = queue.abandon() }
  }

  var isAbandoned: Bool { withState { $0.watched.isAbandoned } }
}

extension Simulation.State {
  /// Releases what has happened; returns the operations that were seen.
  fileprivate mutating func forgetPast() -> [WatchedOperation] {
    watched.hasLostOperations = true
    log.clear()
    choices = []
    begunKeys = []
    return exchange(&names, with: StepNames()).operations
  }
}
