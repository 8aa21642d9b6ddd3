import AdvancedOperations
import CoreOperations

extension Simulation {
  /// Adds a step; the watchdog looks at it if nothing runs it.
  func append(_ make: (inout State) -> Step) {
    let mustEnter = withState { state in
      // The caller still has what the step would run, so nothing is released here.
      if state.watched.isAbandoned { return false }
      state.append(make(&state))
      return state.entersWatchdog()
    }
    if mustEnter { RealTimeWatchdog.stepsArePending(in: self) }
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
    "\(world): the step “\(step)” has blocked its thread for \(duration.readable) of real time: it "
      + "waits, or it loops. A step can't wait for another one on its thread: await it, or wait "
      + "outside of the simulation. A loop ends only by what it does itself."
  }

  /// Says that a run was ended because its task is cancelled.
  func sentence(aboutCancelled call: String) -> String {
    let (count, now) = withState { ($0.takenCount, $0.now) }
    return
      "\(world): \(call) was ended because the task that called it is cancelled, as a time limit "
      + "of a test does. The workflow has not come to its end: \(counted(count, "step")) "
      + "\(count == 1 ? "was" : "were") taken, and virtual time is at \(now.readable)\(lastSteps)."
  }

  /// The names of the last steps, to be appended to a sentence.
  var lastSteps: String {
    let names = withState { $0.lastSteps }.map { "“\($0)”" }
    return names.isEmpty ? "" : "; the last steps: \(names.joined(separator: ", "))"
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
  ///
  /// - Parameters:
  ///   - call: The call that takes the steps.
  ///   - steps: How many it has taken.
  ///   - duration: In how much real time.
  /// - Returns: What is known, and what to do.
  func sentence(aboutEndless call: String, steps: Int, for duration: Duration) -> String? {
    // Between two calls of step(), none goes on.
    let isOver = withState { $0.runningCall == nil && call != Self.singleStep }
    if isOver { return nil }
    let (time, advice) = standstill(in: steps)
    return "\(world): \(call) has taken \(counted(steps, "step")) in \(duration.readable) of real "
      + "time, and \(time)\(lastSteps). \(advice ?? self.advice(onEndless: call))"
  }

  /// Says where virtual time is, and what to do if it has stood still for most of the last steps.
  func standstill(in steps: Int) -> (time: String, advice: String?) {
    let (now, count) = withState { ($0.now, $0.takenCount - $0.countAtLastMove) }
    if 2 * count < steps { return ("virtual time is at \(now.readable)", nil) }
    let time = "virtual time has stood still at \(now.readable) for \(counted(count, "step"))"
    return (time, Self.adviceAtStandstill)
  }

  private static let adviceAtStandstill =
    "Something is repeated without a delay, such as a loop that waits with Task.yield(), or a retry: "
    + "let it sleep by the clock of the environment, or await what it waits for."

  private func advice(onEndless call: String) -> String {
    if call == Self.restartRun {
      return
        "A workflow without an end has no last restart: have it end, for example with a number "
        + "of rounds."
    }
    return "A workflow without an end keeps it going for ever: end it at a time, with "
      + "run(until: .seconds(3600)), or when something is so, with run(until: { … })."
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
