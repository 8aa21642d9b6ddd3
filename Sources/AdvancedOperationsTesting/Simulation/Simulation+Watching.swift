import AdvancedOperations
import CoreOperations

extension Simulation {
  /// Adds a step; the watchdog checks the simulation if nothing runs the step.
  func append(_ make: (inout State) -> Step) {
    let mustEnter = withState { state in
      // The caller still retains the closure of the step, so nothing is released here.
      if state.watched.isAbandoned { return false }
      state.append(make(&state))
      return state.entersWatchdog()
    }
    if mustEnter { RealTimeWatchdog.stepsArePending(in: self) }
  }

  /// Returns the number of runs so far; nil if a run is taking steps, no step is pending, or the
  /// simulation is abandoned.
  ///
  /// If the result is nil, the watchdog stops checking the simulation, which has to enter the
  /// watchdog again.
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
      + "waits, or it loops. A step can't wait for another step on its thread: await that step, or "
      + "wait outside of the simulation. A loop has to end by itself, because no other step runs."
  }

  /// Returns the report of a run that ended because its task is cancelled.
  func sentence(aboutCancelled call: String) -> String {
    let (count, now) = withState { ($0.takenCount, $0.now) }
    return
      "\(world): \(call) was ended because the task that called it is cancelled, for example by "
      + "the time limit of a test. The workflow has not finished: \(counted(count, "step")) "
      + "\(count == 1 ? "was" : "were") taken, and virtual time is at \(now.readable)\(lastSteps)."
  }

  /// The names of the last steps, to be appended to a sentence.
  var lastSteps: String {
    let names = withState { $0.lastSteps }.map { "“\($0)”" }
    return names.isEmpty ? "" : "; the last steps: \(names.joined(separator: ", "))"
  }

  /// Returns the report of pending steps that nothing runs; nil if it was reported before, or isn't
  /// true any more.
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

  /// Returns the report of a run that doesn't end; nil if it has ended.
  ///
  /// - Parameters:
  ///   - call: The call that takes the steps.
  ///   - steps: The number of steps that the call has taken.
  ///   - duration: The real time in which it has taken them.
  /// - Returns: Sentences with the facts and with advice.
  func sentence(aboutEndless call: String, steps: Int, for duration: Duration) -> String? {
    // Between two calls of step(), no call is running.
    let isOver = withState { $0.runningCall == nil && call != Self.singleStep }
    if isOver { return nil }
    let (time, advice) = standstill(in: steps)
    return "\(world): \(call) has taken \(counted(steps, "step")) in \(duration.readable) of real "
      + "time, and \(time)\(lastSteps). \(advice ?? self.advice(onEndless: call))"
  }

  /// Describes the virtual time, with advice if the time has stood still for most of the steps.
  func standstill(in steps: Int) -> (time: String, advice: String?) {
    let (now, count) = withState { ($0.now, $0.takenCount - $0.countAtLastMove) }
    if 2 * count < steps { return ("virtual time is at \(now.readable)", nil) }
    let time = "virtual time has stood still at \(now.readable) for \(counted(count, "step"))"
    return (time, Self.adviceAtStandstill)
  }

  private static let adviceAtStandstill =
    "Something is repeated without a delay, such as a loop that waits with Task.yield(), or a retry: "
    + "let it sleep by the clock of the environment, or await the event that it needs."

  private func advice(onEndless call: String) -> String {
    if call == Self.restartRun {
      return
        "An endless workflow has no last restart: let it end, for example with a number "
        + "of rounds."
    }
    return "An endless workflow keeps the call running forever: end it at a time, with "
      + "run(until: .seconds(3600)), or at a condition, with run(until: { … })."
  }
}

extension Simulation.State {
  /// Returns whether the watchdog has to be notified that steps are pending.
  mutating func entersWatchdog() -> Bool {
    guard runningCall == nil, !steps.isEmpty, !watched.isEntered, !watched.hasReported,
      !watched.isAbandoned
    else { return false }
    watched.isEntered = true
    return true
  }
}
