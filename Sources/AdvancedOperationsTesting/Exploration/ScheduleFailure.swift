import AdvancedOperations
import CoreOperations

/// A schedule under which a workflow does not do what it should.
///
/// The description says how to take the same steps again:
///
/// ```swift
/// let simulation = SimulatedEnvironment(replaying: failure.schedule)
/// ```
///
/// A replay with ``exploreSchedules(replaying:stepLimit:fileID:line:of:)`` throws one as well.
public struct ScheduleFailure: Error, CustomStringConvertible {
  /// What the workflow threw, or what is wrong with it.
  ///
  /// The workflow left steps pending or took none. An operation left the simulation, or waits
  /// forever. The schedule has more steps than the limit. The workflow isn't deterministic, or the
  /// schedule that is replayed doesn't fit it.
  public let underlying: any Error
  /// The choices that lead to the failure, made as few as possible.
  ///
  /// Pass them to ``SimulatedEnvironment/init(replaying:)`` or
  /// ``exploreSchedules(replaying:stepLimit:fileID:line:of:)``.
  public let schedule: String
  /// How many schedules had been run by then, with this one: the number of the schedule, which is 1
  /// for a replay.
  public let scheduleCount: Int
  /// What happened under the schedule.
  public let log: String
  /// What else is wrong.
  let note: String?
  /// Whether the schedule leads to the failure each time that it is run.
  let isRepeatable: Bool
  /// Where the exploration was called.
  public let fileID: String
  /// The line of that.
  public let line: Int

  /// What went wrong, the schedule, and the log.
  public var description: String {
    let replay =
      isRepeatable
      ? "replay it with exploreSchedules(replaying: \"\(schedule)\") { … }:" : "its steps:"
    let remark = note.map { "\n" + $0 } ?? ""
    return """
      \(fileID):\(line): schedule \(scheduleCount) fails: \(underlying)\(remark)
      \(replay)
      \(logEnd)
      """
  }

  /// The log, or its last lines.
  private var logEnd: String {
    let lines = log.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count > 400 else { return log }
    return "(\(lines.count - 100) lines are left off; they are in the log of the failure)\n"
      + lines.suffix(100).joined(separator: "\n")
  }
}

extension ScheduleFailure {
  /// Whether two runs have failed in the same way: with the same type and the same text, numbers
  /// aside; an expectation also in the same line.
  static func isSame(_ a: any Error, as b: any Error) -> Bool {
    guard type(of: a) == type(of: b) else { return false }
    if let a = a as? ExpectationFailure, let b = b as? ExpectationFailure {
      guard a.fileID == b.fileID, a.line == b.line else { return false }
    }
    return withoutNumbers(a) == withoutNumbers(b)
  }

  private static func withoutNumbers(_ error: any Error) -> String {
    "\(error)".filter { !$0.isNumber }
  }

  /// Says that the choices of a failure don't lead to the same failure once more.
  static func sentence(
    aboutRepeating error: any Error,
    _ log: SimulationLog,
    as newError: (any Error)?,
    _ newLog: SimulationLog
  ) -> String? {
    if let newError, isSame(newError, as: error) { return nil }
    let result =
      newError.map { "the schedule failed with another error: \($0)" } ?? "nothing failed"
    let difference = ScheduleProblem(newLog, differsFrom: log)
    return "The same choices were made once more, and \(result). "
      + (difference?.description
        ?? "The workflow is not deterministic, although its steps are: no schedule leads to this "
        + "failure. Make everything that it uses in it, and take time, chance and threads from the "
        + "simulation.")
  }
}

/// The number of schedules that an exploration has tried, and whether there are others.
///
/// ```swift
/// let report = try exploreSchedules { simulation in
///   let queue = AdvancedOperationQueue(environment: simulation.environment)
///   for _ in 0..<3 { queue.addOperation(AdvancedOperation()) }
///   simulation.run()
/// }
/// #expect(report.isComplete)
/// #expect(report.scheduleCount == 6)
/// ```
public struct ScheduleReport: Sendable, Hashable, CustomStringConvertible {
  /// The number of different schedules that were explored depth first.
  public internal(set) var scheduleCount = 0
  /// The number of schedules that ended early, in a state from which all was explored before.
  public internal(set) var prunedCount = 0
  /// The number of schedules drawn at random, because there were too many; some may be equal.
  public internal(set) var randomCount = 0
  /// Whether the schedules explored depth first are all that there are.
  public internal(set) var isComplete = false

  /// The virtual times at which steps were taken that may be taken at any time, by the names of the
  /// steps.
  ///
  /// See ``SimulatedEnvironment/addStep(_:atAnyTime:_:)``.
  public internal(set) var timesOfSteps: [String: Set<Duration>] = [:]

  /// Whether the depth-first part ended because steps can be passed over any number of times.
  var isBounded = false

  mutating func add(_ run: ScheduleExplorer.Run) {
    for (name, time) in run.simulation.simulation.withState({ $0.takenAtAnyTime }) {
      timesOfSteps[name, default: []].insert(time)
    }
  }

  /// The times at which steps were taken, in words.
  private var timesInWords: String {
    timesOfSteps.sorted { $0.key < $1.key }.map { name, times in
      guard let first = times.min(), let last = times.max(), first < last else {
        return "; “\(name)” was taken at \(Self.text(times.first ?? .zero))"
      }
      return "; “\(name)” was taken at \(times.count) times from \(Self.text(first)) to "
        + Self.text(last)
    }.joined()
  }

  private static func text(_ time: Duration) -> String { time == .zero ? "0 s" : time.readable }

  /// One line with the numbers.
  public var description: String {
    let schedules = counted(scheduleCount, "schedule")
    let pruned =
      prunedCount == 0
      ? "" : " (\(prunedCount) more ended early, in a state that was reached before)"
    if isComplete, scheduleCount == 1 {
      return "\(schedules)\(pruned); there are no more\(timesInWords)"
    }
    if isComplete { return "all \(schedules)\(pruned)\(timesInWords)" }
    if isBounded {
      return "\(schedules) depth first\(pruned), and \(randomCount) at random; there are more, "
        + "because the workflow polls: it may poll any number of times before another step\(timesInWords)"
    }
    return "\(schedules) depth first\(pruned), and \(randomCount) at random; "
      + "there are more: to try all, explore fewer operations; to try more, pass a larger "
      + "depthFirst: or randomSchedules:\(timesInWords)"
  }
}
