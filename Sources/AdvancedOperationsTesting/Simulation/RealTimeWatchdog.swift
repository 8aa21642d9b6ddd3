import CoreOperations
import Dispatch

/// Looks, in real time, whether a step of a simulation blocks its thread.
///
/// One thread for all simulations. It is started when one runs and ends when none did for a while,
/// so that a run pays for being entered into a list.
package enum RealTimeWatchdog {
  private struct Entry {
    weak var simulation: Simulation?
    var seen = -1
    var since = ContinuousClock.now
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    var lastNumber = 0
    var isAwake = false
    var report: @Sendable (String) -> Void = { StandardError.write(line: $0) }
  }

  private static let state = Locked(State())

  /// A simulation that runs.
  struct Guarded {
    fileprivate let number: Int
    func end() { RealTimeWatchdog.end(number) }
  }

  /// Sets where reports go.
  package static func setReport(_ report: @escaping @Sendable (String) -> Void) {
    withState { $0.report = report }
  }

  static func begin(_ simulation: Simulation) -> Guarded {
    let (number, mustLaunch) = withState { state in
      state.lastNumber += 1
      state.entries[state.lastNumber] = Entry(simulation: simulation)
      defer { state.isAwake = true }
      return (state.lastNumber, !state.isAwake)
    }
    if mustLaunch { DispatchQueue(label: "watchdog of simulations").async { watch() } }
    return Guarded(number: number)
  }

  private static func end(_ number: Int) {
    let entry = withState { $0.entries.removeValue(forKey: number) }
    withExtendedLifetime(entry) {}
  }

  private static func withState<Result>(_ body: (inout State) -> Result) -> Result {
    #if DEBUG
    return Preemption.without { state.withLock { body(&$0) } }
    #else
    return state.withLock { body(&$0) }
    #endif
  }

  private static func watch() {
    var pause = Duration.milliseconds(250)
    while true {
      MonotonicClock.block(for: pause)
      let (entries, isDone) = withState { state in
        state.isAwake = !state.entries.isEmpty
        return (state.entries, state.entries.isEmpty)
      }
      if isDone { return }
      pause = .milliseconds(250)
      for (number, entry) in entries {
        guard let simulation = entry.simulation else { continue }
        let interval = simulation.watchdogInterval
        pause = max(.milliseconds(1), min(pause, interval / 2))
        look(at: simulation, number, entry, interval)
      }
    }
  }

  private static func look(
    at simulation: Simulation,
    _ number: Int,
    _ entry: Entry,
    _ interval: Duration
  ) {
    let (count, name) = simulation.progress.current
    let now = ContinuousClock.now
    if count != entry.seen {
      withState { state in
        state.entries[number]?.seen = count
        state.entries[number]?.since = now
      }
      return
    }
    guard let name, entry.since.duration(to: now) >= interval else { return }
    // Once for each step.
    guard simulation.progress.reported(count) else { return }
    withState { $0.report }(
      "SimulatedEnvironment(seed: \(simulation.seed)): the step “\(name)” has blocked its thread "
        + "for \(entry.since.duration(to: now)) of real time. A step can't wait for another one on "
        + "its thread: await it, or wait outside of the simulation."
    )
  }
}

/// Which step is going on, for the watchdog.
final class StepProgress: Sendable {
  private struct State {
    var count = 0
    var name: String?
    var reported = -1
  }

  private let state = Locked(State())

  func began(_ name: String) {
    state.withLock { state in
      state.count += 1
      state.name = name
    }
  }

  func ended() { state.withLock { $0.name = nil } }

  var current: (count: Int, name: String?) { state.withLock { ($0.count, $0.name) } }

  /// Returns whether it is the first report of this step.
  func reported(_ count: Int) -> Bool {
    state.withLock { state in
      defer { state.reported = count }
      return state.reported != count
    }
  }
}
