import CoreOperations
import Dispatch

/// A watchdog in real time for blocked threads, endless runs, pending steps that nothing runs, and the
/// progress of explorations.
///
/// All simulations share one thread. The thread starts when a simulation runs or has steps, and ends when no
/// simulation did for a while. Therefore a run only pays for its entry in a list. The watchdog doesn't keep
/// simulations alive.
package enum RealTimeWatchdog {
  private struct Running {
    weak var simulation: Simulation?
    var looks: RunLooks
    let call: String
    /// Whether the run consists of calls of `step()`, and no call is running.
    var isResting = false
  }

  private struct Pending {
    weak var simulation: Simulation?
    /// The number of the entry, because the address of a released simulation can be used again.
    let number: Int
    var looks: PendingLooks
  }

  private struct Exploring {
    let progress: ExplorationProgress
    var looks: ExplorationLooks
  }

  private struct State {
    var running: [Int: Running] = [:]
    /// The entries of simulations that calls of `step()` run.
    var stepping: [ObjectIdentifier: Int] = [:]
    var pending: [ObjectIdentifier: Pending] = [:]
    var exploring: [Int: Exploring] = [:]
    var lastNumber = 0
    var isAwake = false
    var report: @Sendable (String) -> Void = { StandardError.write(line: $0) }

    mutating func nextNumber() -> Int {
      lastNumber += 1
      return lastNumber
    }

    /// Marks the thread as started; returns whether it has to be started.
    mutating func wake() -> Bool {
      defer { isAwake = true }
      return !isAwake
    }

    mutating func removeRun(_ number: Int) -> Running? {
      stepping = stepping.filter { $0.value != number }
      return running.removeValue(forKey: number)
    }
  }

  private static let state = Locked(State())

  /// The entry of a simulation that runs, or of an exploration.
  struct Guarded {
    fileprivate let number: Int
    fileprivate var isStep = false
    func end() { RealTimeWatchdog.end(self) }
  }

  /// Sets the closure that receives the reports.
  package static func setReport(_ report: @escaping @Sendable (String) -> Void) {
    withState { $0.report = report }
  }

  static func report(_ line: String) { withState { $0.report }(line) }

  /// Notes that a simulation begins to run.
  ///
  /// Consecutive calls of `step()` are one run.
  static func begin(_ simulation: Simulation, call: String) -> Guarded {
    let id = ObjectIdentifier(simulation)
    let isStep = call == Simulation.singleStep
    let looks = RunLooks(after: simulation.progress.current.count, at: .now)
    let (number, mustLaunch, outdated) = withState { state in
      var outdated: Running?
      if let number = state.stepping[id] {
        if isStep, state.running[number]?.simulation === simulation {
          state.running[number]?.isResting = false
          return (number, state.wake(), (state.pending.removeValue(forKey: id), outdated))
        }
        outdated = state.removeRun(number)
      }
      let number = state.nextNumber()
      state.running[number] = Running(simulation: simulation, looks: looks, call: call)
      if isStep { state.stepping[id] = number }
      return (number, state.wake(), (state.pending.removeValue(forKey: id), outdated))
    }
    withExtendedLifetime(outdated) {}
    if mustLaunch { launch() }
    return Guarded(number: number, isStep: isStep)
  }

  private static func end(_ guarded: Guarded) {
    let entry = withState { state -> (Running?, Exploring?) in
      if guarded.isStep {
        state.running[guarded.number]?.isResting = true
        return (nil, nil)
      }
      return (
        state.running.removeValue(forKey: guarded.number),
        state.exploring.removeValue(forKey: guarded.number)
      )
    }
    withExtendedLifetime(entry) {}
  }

  /// Notes that an exploration begins.
  static func begin(_ progress: ExplorationProgress) -> Guarded {
    let (number, mustLaunch) = withState { state in
      let number = state.nextNumber()
      state.exploring[number] = Exploring(progress: progress, looks: ExplorationLooks(at: .now))
      return (number, state.wake())
    }
    if mustLaunch { launch() }
    return Guarded(number: number)
  }

  /// Notes that a simulation has pending steps and doesn't run.
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
    func adapt(to interval: Duration) {
      pause = max(.milliseconds(1), min(pause, interval / 2))
    }
    while true {
      MonotonicClock.block(for: pause)
      let (running, pending, exploring, isDone) = withState { state in
        state.isAwake =
          !state.running.isEmpty || !state.pending.isEmpty || !state.exploring.isEmpty
        return (state.running, state.pending, state.exploring, !state.isAwake)
      }
      if isDone { return }
      pause = .milliseconds(250)
      for (number, entry) in running {
        guard let simulation = entry.simulation else {
          // A run keeps its simulation alive, but calls of step() don't.
          if entry.isResting { _ = withState { $0.removeRun(number) } }
          continue
        }
        adapt(to: simulation.watchdogInterval)
        look(atRunning: simulation, number, entry)
      }
      for (key, entry) in pending {
        let simulation = entry.simulation
        if let simulation { adapt(to: simulation.watchdogInterval) }
        look(atPending: simulation, key, entry)
      }
      for (number, entry) in exploring {
        let interval = entry.progress.interval
        adapt(to: interval)
        var looks = entry.looks
        guard let duration = looks.look(at: .now, interval: interval) else { continue }
        withState { $0.exploring[number]?.looks = looks }
        report(entry.progress.sentence(after: duration))
      }
    }
  }

  private static func look(atRunning simulation: Simulation, _ number: Int, _ entry: Running) {
    var looks = entry.looks
    let (count, name) = simulation.progress.current
    let interval = simulation.watchdogInterval
    if entry.isResting, looks.isOver(count: count, at: .now, interval: interval) {
      let outdated = withState { state -> Running? in
        state.running[number]?.isResting == true ? state.removeRun(number) : nil
      }
      return withExtendedLifetime(outdated) {}
    }
    let verdict = looks.look(count: count, isInStep: name != nil, at: .now, interval: interval)
    withState { $0.running[number]?.looks = looks }
    switch verdict {
    case .goesOn: break
    case .blocked(let duration):
      // Report a step only once.
      guard let name, simulation.progress.reported(count) else { return }
      let sentence = simulation.sentence(aboutBlocking: name, for: duration)
      // Nothing can unwind the blocked thread, so that the test can't fail in any other way.
      if simulation.trapsWhenBlocked { trap(sentence) }
      report(sentence)
    case .endless(let steps, let duration):
      let sentence = simulation.sentence(aboutEndless: entry.call, steps: steps, for: duration)
      if let sentence { report(sentence) }
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
    let outdated = withState { state -> Pending? in
      guard state.pending[key]?.number == entry.number else { return nil }
      if isOver { return state.pending.removeValue(forKey: key) }
      state.pending[key]?.looks = looks
      return nil
    }
    withExtendedLifetime(outdated) {}
    guard let duration, let sentence = simulation?.sentence(aboutPendingFor: duration) else {
      return
    }
    report(sentence)
  }
}

/// The step that is running, for the watchdog.
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

  /// Returns whether this is the first report of the step.
  func reported(_ count: Int) -> Bool {
    state.withLock { state in
      defer { state.reported = count }
      return state.reported != count
    }
  }
}
