import CoreOperations
import Dispatch

/// Looks, in real time, whether a step of a simulation blocks its thread, whether a run has no end,
/// and whether steps are pending that nothing runs.
///
/// One thread for all simulations. It is started when one runs or has steps, and ends when none did
/// for a while, so that a run pays for being entered into a list. Nothing is kept alive.
package enum RealTimeWatchdog {
  private struct Running {
    weak var simulation: Simulation?
    var looks: RunLooks
  }

  private struct Pending {
    weak var simulation: Simulation?
    /// The address of a simulation is used again when it is gone.
    let number: Int
    var looks: PendingLooks
  }

  private struct State {
    var running: [Int: Running] = [:]
    var pending: [ObjectIdentifier: Pending] = [:]
    var lastNumber = 0
    var isAwake = false
    var report: @Sendable (String) -> Void = { StandardError.write(line: $0) }

    mutating func nextNumber() -> Int {
      lastNumber += 1
      return lastNumber
    }

    /// Returns whether the thread has to be started.
    mutating func wake() -> Bool {
      defer { isAwake = true }
      return !isAwake
    }
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

  /// A simulation begins to run.
  static func begin(_ simulation: Simulation) -> Guarded {
    let looks = RunLooks(after: simulation.progress.current.count, at: .now)
    let (number, mustLaunch, outdated) = withState { state in
      let number = state.nextNumber()
      state.running[number] = Running(simulation: simulation, looks: looks)
      return (number, state.wake(), state.pending.removeValue(forKey: .init(simulation)))
    }
    withExtendedLifetime(outdated) {}
    if mustLaunch { launch() }
    return Guarded(number: number)
  }

  private static func end(_ number: Int) {
    let entry = withState { $0.running.removeValue(forKey: number) }
    withExtendedLifetime(entry) {}
  }

  /// A simulation has steps, and doesn't run.
  static func stepsArePending(in simulation: Simulation) {
    let (mustLaunch, outdated) = withState { state in
      let pending = Pending(
        simulation: simulation,
        number: state.nextNumber(),
        looks: PendingLooks(at: .now)
      )
      return (state.wake(), state.pending.updateValue(pending, forKey: .init(simulation)))
    }
    withExtendedLifetime(outdated) {}
    if mustLaunch { launch() }
  }

  private static func withState<Result>(_ body: (inout State) -> Result) -> Result {
    #if DEBUG
    return Preemption.without { state.withLock { body(&$0) } }
    #else
    return state.withLock { body(&$0) }
    #endif
  }

  private static func launch() {
    DispatchQueue(label: "watchdog of simulations").async { watch() }
  }

  private static func watch() {
    var pause = Duration.milliseconds(250)
    while true {
      MonotonicClock.block(for: pause)
      let (running, pending, isDone) = withState { state in
        state.isAwake = !state.running.isEmpty || !state.pending.isEmpty
        return (state.running, state.pending, !state.isAwake)
      }
      if isDone { return }
      pause = .milliseconds(250)
      for (number, entry) in running {
        guard let simulation = entry.simulation else { continue }
        pause = max(.milliseconds(1), min(pause, simulation.watchdogInterval / 2))
        look(atRunning: simulation, number, entry.looks)
      }
      for (key, entry) in pending {
        let simulation = entry.simulation
        if let simulation {
          pause = max(.milliseconds(1), min(pause, simulation.watchdogInterval / 2))
        }
        look(atPending: simulation, key, entry)
      }
    }
  }

  private static func look(atRunning simulation: Simulation, _ number: Int, _ looks: RunLooks) {
    var looks = looks
    let (count, name) = simulation.progress.current
    let verdict = looks.look(
      count: count,
      isInStep: name != nil,
      at: .now,
      interval: simulation.watchdogInterval
    )
    let report = withState { state in
      state.running[number]?.looks = looks
      return state.report
    }
    switch verdict {
    case .goesOn: break
    case .blocked(let duration):
      // Once for each step.
      guard let name, simulation.progress.reported(count) else { return }
      let sentence = simulation.sentence(aboutBlocking: name, for: duration)
      // Nothing can unwind the blocked thread, so that the test can't fail in any other way.
      if simulation.trapsWhenBlocked { trap(sentence) }
      report(sentence)
    case .endless(let steps, let duration):
      guard let sentence = simulation.sentence(aboutEndless: steps, for: duration) else { return }
      report(sentence)
    }
  }

  private static func look(
    atPending simulation: Simulation?,
    _ key: ObjectIdentifier,
    _ entry: Pending
  ) {
    var looks = entry.looks
    let runCount = simulation?.runCountWhilePending()
    let duration = runCount.flatMap { runCount in
      looks.look(
        runCount: runCount,
        at: .now,
        interval: simulation?.watchdogInterval ?? .zero
      )
    }
    let isOver = runCount == nil || duration != nil
    let (report, outdated) = withState { state -> (@Sendable (String) -> Void, Pending?) in
      guard state.pending[key]?.number == entry.number else { return (state.report, nil) }
      if isOver { return (state.report, state.pending.removeValue(forKey: key)) }
      state.pending[key]?.looks = looks
      return (state.report, nil)
    }
    withExtendedLifetime(outdated) {}
    guard let duration, let sentence = simulation?.sentence(aboutPendingFor: duration) else {
      return
    }
    report(sentence)
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
