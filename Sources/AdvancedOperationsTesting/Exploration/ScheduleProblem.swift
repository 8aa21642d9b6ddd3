import AdvancedOperations
import CoreOperations

/// The reason for the failure of a schedule if the workflow itself didn't throw.
enum ScheduleProblem: Error, CustomStringConvertible {
  case strays([StrayOperation])
  /// Steps or timers are pending at the end, after a `run()` or without a run.
  case pending([String], afterRun: Bool)
  case noStep
  /// Operations wait although nothing can happen any more; each has an explanation.
  case waiting([String])
  /// The schedule has too many steps; the text contains their number and the last steps.
  case tooLong(String)
  /// Choices of the replayed schedule could not be made.
  case misfit(String)
  /// Two runs with the same choices have different logs.
  ///
  /// The values are the last common line, and the next line of each run. A line is nil if the run
  /// was over. Both next lines are nil if only the number of steps at a choice differed.
  case differs(after: String?, was: String?, is: String?)
  /// Two runs with the same choices differ in lines that their logs have left off.
  ///
  /// The value is the number of these lines.
  case differsInLeftOff(Int)

  var description: String {
    switch self {
    case .strays(let strays): strays.map(\.description).joined(separator: "\n")
    case .pending(let names, let afterRun):
      "Steps of the simulation are pending at the end of the workflow: "
        + names.prefix(5).map { "“\($0)”" }.joined(separator: ", ")
        + (names.count > 5 ? " and \(names.count - 5) more. " : ". ")
        + (afterRun
          ? "They were added after the last run(): call simulation.run() once more."
          : "Call simulation.run() in the workflow, which takes them.")
    case .noStep: Self.noStepText
    case .waiting(let explanations):
      "Nothing can happen in the simulation any more, and "
        + (explanations.count == 1
          ? "an operation has" : "\(explanations.count) operations have")
        + " not finished:\n" + explanations.prefix(3).joined(separator: "\n")
        + (explanations.count > 3 ? "\nand \(explanations.count - 3) more." : "")
    case .tooLong(let text): text
    case .misfit(let misfit):
      "The schedule doesn't fit this workflow, or not any more: \(misfit). Explore the workflow "
        + "again, or replay the schedule with the workflow in which it was found. If the workflow is "
        + "fixed, remove the replay."
    case .differsInLeftOff(let count):
      "The workflow is not deterministic: with the same choices, the log was different before, in "
        + "the first \(counted(count, "line")), which were left off. To see these lines, set "
        + "logLimit of the simulation to nil in the workflow."
    case .differs(let last, let was, let now):
      "The workflow is not deterministic: with the same choices, "
        + (last.map { "after “\($0)” " } ?? "at the beginning ")
        + "there was \(Self.quoted(was)) before, and now there is \(Self.quoted(now)). "
        + "Create everything that it uses in its closure, and take time, random numbers and threads "
        + "from the simulation."
    }
  }

  /// The message for a workflow that has taken no step in its simulation.
  static let noStepText =
    "No step was taken: the workflow doesn't use the simulation. Create its queue with the "
    + "environment of the simulation, AdvancedOperationQueue(environment: "
    + "simulation.environment), and add the operations to that queue."

  /// Whether the same schedule fails with the same problem again.
  var isRepeatable: Bool {
    switch self {
    case .strays, .pending, .noStep, .misfit, .waiting: true
    // A schedule with too many steps takes too long to shorten.
    case .differs, .differsInLeftOff, .tooLong: false
    }
  }

  /// Whether the same choices have led to different logs.
  var isDifference: Bool {
    switch self {
    case .differs, .differsInLeftOff: true
    case .strays, .pending, .noStep, .misfit, .waiting, .tooLong: false
    }
  }

  /// Creates the problem of a schedule with too many steps; nil if the simulation hasn't reached
  /// the limit.
  init?(limitOf simulation: Simulation) {
    let (hasReachedLimit, count) = simulation.withState { ($0.hasReachedLimit, $0.takenCount) }
    guard hasReachedLimit else { return nil }
    let (time, advice) = simulation.standstill(in: count)
    let usualAdvice =
      "If the workflow has no end, end it in the test: run(until: .seconds(3600)), then cancel it, "
      + "then run()."
    self = .tooLong(
      "The schedule has not ended after \(counted(count, "step")): \(time)\(simulation.lastSteps). "
        + "\(advice ?? usualAdvice) If it takes more steps, pass a larger stepLimit:."
    )
  }

  /// Creates the problem at the end of a workflow that didn't throw; nil if there is none.
  ///
  /// Steps may be pending if the last call that ran the simulation ends earlier than `run()`. Such
  /// a call ends at a condition or a time, with the value of code, or after one step. The test
  /// inspects the middle of a workflow.
  init?(atEndOf simulation: Simulation) {
    let (steps, alarms, lastCall, takenCount) = simulation.withState { state in
      let alarms = state.alarms.upcoming.sorted { $0.number < $1.number }.map(\.name)
      return (state.steps.map(\.name), alarms, state.lastCall, state.takenCount)
    }
    let strays = simulation.strays
    if lastCall == nil, !steps.isEmpty || !alarms.isEmpty {
      self = .pending(steps + alarms, afterRun: false)
    } else if lastCall == Simulation.wholeRun, !steps.isEmpty {
      self = .pending(steps, afterRun: true)
    } else if takenCount == 0 {
      self = .noStep
    } else if !strays.isEmpty {
      self = .strays(strays)
    } else if let waiting = simulation.sentencesAboutWaiting {
      self = .waiting(waiting)
    } else {
      return nil
    }
  }

  private static func quoted(_ line: String?) -> String { line.map { "“\($0)”" } ?? "nothing" }

  /// Compares two logs of the same choices; nil if they are equal.
  init?(_ log: SimulationLog, differsFrom old: SimulationLog) {
    if log.fingerprint == old.fingerprint { return nil }
    let leftOff = max(log.leftOffCount, old.leftOffCount)
    let (lines, oldLines) = (log.lines(from: leftOff), old.lines(from: leftOff))
    let same = zip(lines, oldLines).prefix { $0 == $1 }.count
    // If the first kept line differs, an earlier line that was left off may differ, too.
    if leftOff > 0, same == 0 || same == lines.count && same == oldLines.count {
      self = .differsInLeftOff(leftOff)
      return
    }
    self = .differs(
      after: same > 0 ? oldLines[same - 1] : nil,
      was: same < oldLines.count ? oldLines[same] : nil,
      is: same < lines.count ? lines[same] : nil
    )
  }
}
