import AdvancedOperations
import CoreOperations

/// An error for a schedule in which a workflow fails.
///
/// The description contains the call that replays the schedule. To debug the steps of the schedule,
/// use a simulation:
///
/// ```swift
/// let simulation = SimulatedEnvironment(replaying: failure.schedule)
/// ```
///
/// A replay with ``exploreSchedules(replaying:stepLimit:fileID:line:of:)`` also throws this error.
public struct ScheduleFailure: Error, CustomStringConvertible {
  /// The error that the workflow threw, or another problem.
  ///
  /// Another problem is one of these: The workflow left steps pending, or took no step. An
  /// operation left the simulation, or waits forever. The schedule has more steps than the limit.
  /// The workflow isn't deterministic, or the replayed schedule doesn't fit the workflow.
  public let underlying: any Error
  /// The choices that lead to the failure, as few as possible.
  ///
  /// Pass this text to ``SimulatedEnvironment/init(replaying:)`` or
  /// ``exploreSchedules(replaying:stepLimit:fileID:line:of:)``.
  public let schedule: String
  /// The number of the schedule in the exploration, from 1; always 1 for a replay.
  public let scheduleCount: Int
  /// The log of the simulation.
  public let log: String
  /// A remark about the failure; nil if there is none.
  let note: String?
  /// Whether the schedule leads to the failure each time that it is run.
  let isRepeatable: Bool
  /// The file in which the exploration was called.
  public let fileID: String
  /// The line in which the exploration was called.
  public let line: Int

  /// The error, the schedule, and the log.
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
  /// Returns whether two failures are the same: they have the same type and, apart from numbers,
  /// the same text.
  ///
  /// Two failed expectations must also have the same line.
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

  /// Returns a sentence if the same choices didn't lead to the same failure again; otherwise nil.
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
        + "failure. Create everything that it uses in its closure, and take time, random numbers and "
        + "threads from the simulation.")
  }
}

/// The number of schedules that an exploration has tried, and whether these are all schedules.
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
  /// The number of schedules that ended early, in a state from which everything had been explored.
  public internal(set) var prunedCount = 0
  /// The number of schedules that were chosen at random, because there are too many schedules to try all.
  ///
  /// The same schedule may be chosen several times, and is then counted several times.
  public internal(set) var randomCount = 0
  /// Whether the depth-first search has tried all schedules.
  public internal(set) var isComplete = false

  /// The virtual times at which steps with `atAnyTime: true` were taken, by the names of the steps.
  ///
  /// See ``SimulatedEnvironment/addStep(_:atAnyTime:_:)``.
  public internal(set) var timesOfSteps: [String: Set<Duration>] = [:]

  /// Whether the depth-first search has omitted schedules, because steps can be passed over any
  /// number of times.
  var isBounded = false

  mutating func add(_ run: ScheduleExplorer.Run) {
    for (name, time) in run.simulation.simulation.withState({ $0.takenAtAnyTime }) {
      timesOfSteps[name, default: []].insert(time)
    }
  }

  /// The times at which steps at any time were taken, in words.
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

  /// A line with the numbers of the report.
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
