import AdvancedOperations
import CoreOperations

/// How far an exploration is, for the watchdog.
final class ExplorationProgress: Sendable {
  private struct State {
    var seed: UInt64
    /// How many schedules or restarts were explored.
    var count = 0
    weak var simulation: Simulation?
  }

  /// The function that explores.
  let call: String
  /// What it counts.
  private let noun: String
  private let state: Locked<State>

  init(call: String, counting noun: String, seed: UInt64 = 0) {
    self.call = call
    self.noun = noun
    state = Locked(State(seed: seed))
  }

  /// A schedule begins, or a run between two restarts.
  func begins(_ simulation: Simulation) {
    let old = state.withLock { state in
      let old = state.simulation
      state.simulation = simulation
      return old
    }
    withExtendedLifetime(old) {}
  }

  /// The orders of steps that follow from another seed are explored from now on.
  func begins(seed: UInt64) { state.withLock { $0.seed = seed } }

  /// Some of what is counted was explored.
  func explored(_ count: Int = 1) { state.withLock { $0.count += count } }

  /// The real time between two reports: that of the current simulation.
  var interval: Duration {
    state.withLock { $0.simulation }?.watchdogInterval ?? .seconds(10)
  }

  func sentence(after duration: Duration) -> String {
    let (seed, count, simulation) = state.withLock { ($0.seed, $0.count, $0.simulation) }
    let steps = simulation.map { simulation in
      let count = simulation.withState { $0.takenCount }
      return ", and \(counted(count, "step")) of the current run"
    }
    return "\(call): \(counted(count, noun)) in \(duration.readable) of real time\(steps.orEmpty) "
      + "(seed \(seed))."
  }
}

/// Whether the task that calls this is cancelled.
var isCallerCancelled: Bool { unsafe withUnsafeCurrentTask { unsafe $0?.isCancelled == true } }
