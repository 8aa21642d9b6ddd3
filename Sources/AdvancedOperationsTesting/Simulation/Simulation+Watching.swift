import AdvancedOperations
import CoreOperations

extension Simulation {
  /// Adds a step; the watchdog looks at it if nothing runs it.
  func append(_ make: (inout State) -> Step) {
    let mustEnter = withState { state in
      state.append(make(&state))
      return state.entersWatchdog()
    }
    if mustEnter { RealTimeWatchdog.stepsArePending(in: self) }
  }

  /// The `SimulatedEnvironment` is gone.
  func abandon() {
    withState { $0.watched.isAbandoned = true }
    keepOperations(false)
  }

  /// The number of runs until now; nil when one goes on, when nothing is pending, or when nothing
  /// can run it any more, and the watchdog has to be told if that changes.
  func runCountWhilePending() -> Int? {
    withState { state in
      if state.runningCall == nil, !state.steps.isEmpty, !state.watched.isAbandoned {
        return state.watched.runCount
      }
      state.watched.isEntered = false
      return nil
    }
  }

  // MARK: Reports

  private var world: String { "SimulatedEnvironment(seed: \(seed))" }

  func sentence(aboutBlocking step: String, for duration: Duration) -> String {
    "\(world): the step “\(step)” has blocked its thread for \(duration) of real time. A step "
      + "can't wait for another one on its thread: await it, or wait outside of the simulation."
  }

  /// Says that steps are pending and nothing runs them; nil when it was said, or isn't so any more.
  func sentence(aboutPendingFor duration: Duration) -> String? {
    let names = withState { state -> [String] in
      guard state.runningCall == nil, !state.watched.hasReported else { return [] }
      state.watched.hasReported = true
      return state.steps.prefix(4).map(\.name)
    }
    if names.isEmpty { return nil }
    let list = names.prefix(3).joined(separator: ", ") + (names.count > 3 ? ", …" : "")
    return "\(world): steps have been pending for \(duration.readable) of real time (\(list)), and "
      + "nothing runs them: call simulation.run(), or await inside of try simulation.run { … }."
  }

  /// Says that a run doesn't come to its end; nil when it has.
  func sentence(aboutEndless steps: Int, for duration: Duration) -> String? {
    let (call, now, lines) = withState { ($0.runningCall, $0.now, $0.lines.suffix(60)) }
    guard let call else { return nil }
    let names = lines.compactMap { line in
      line.firstRange(of: "] step: ").map { "“\(line[$0.upperBound...])”" }
    }
    return "\(world): \(call) has taken \(counted(steps, "step")) in \(duration.readable) of real "
      + "time, and virtual time is at \(now.readable); the last steps: "
      + "\(names.suffix(3).joined(separator: ", ")). A workflow without an end keeps it going for "
      + "ever: end it at a time, with run(until: .seconds(3600)), or when something is so, with "
      + "run(until: { … })."
  }
}

extension Simulation.State {
  /// Returns whether the watchdog has to be told that steps are pending.
  mutating func entersWatchdog() -> Bool {
    guard runningCall == nil, !steps.isEmpty, !watched.isEntered, !watched.hasReported,
      !watched.isAbandoned
    else { return false }
    watched.isEntered = true
    return true
  }
}
