import AdvancedOperations
import CoreOperations

/// A queue that a simulation runs, while it exists.
final class SimulatedQueue: Sendable {
  weak let queue: (any SteppedQueue)?
  init(_ queue: any SteppedQueue) { self.queue = queue }
}

extension Simulation {
  /// What a simulation held, to be released without its lock.
  private struct Remains {
    var steps: [Step] = []
    var alarms: [Alarm] = []
    var targets: [FaultTarget] = []
    var queues: [SimulatedQueue] = []
  }

  /// Nothing runs the simulation any more: releases its steps, timers, and the operations that have
  /// not finished.
  ///
  /// Code of the program isn't called, except by a `deinit`. A task that is suspended, or has not
  /// begun, stays in memory, because Swift releases a task only when it has ended. So what such a
  /// task can reach is kept small: operations lose their dependencies, and the simulation its log.
  func abandon() {
    let remains = withState { state in
      state.watched.isAbandoned = true
      return Remains(
        steps: state.takeSteps(),
        alarms: exchange(&state.alarms, with: Alarms()).all,
        targets: exchange(&state.targetsAtReady, with: []),
        queues: state.queues
      )
    }
    var members = remains.queues.compactMap(\.queue).flatMap { $0.abandon() }
    if remains.steps.isEmpty, remains.alarms.isEmpty, members.isEmpty { return }
    // Cut all links while all operations are retained, so that no release sets off a long chain.
    for alarm in remains.alarms { alarm.timer.cancel() }
    for operation in members { operation.wasAbandoned() }
    exclusivity.abandon()
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

  /// Remembers a queue, and forgets those that are gone.
  func didCreate(_ queue: any SteppedQueue) {
    if isAbandoned {
      // It takes in nothing from the beginning.
      _ = queue.abandon()
      return
    }
    let full = withState { state -> [SimulatedQueue]? in
      state.queues.append(SimulatedQueue(queue))
      return state.queues.count > state.queueLimit ? state.queues : nil
    }
    guard let full else { return }
    let gone = Set(full.filter { $0.queue == nil }.map { ObjectIdentifier($0) })
    withState { state in
      state.queues.removeAll { gone.contains(ObjectIdentifier($0)) }
      state.queueLimit = max(16, 2 * state.queues.count)
    }
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
    queues = []
    return exchange(&names, with: StepNames()).operations
  }
}
