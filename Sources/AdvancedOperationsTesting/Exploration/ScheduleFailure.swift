/// A schedule under which a workflow does not do what it should.
///
/// The description says how to take the same steps again:
///
/// ```swift
/// let simulation = SimulatedEnvironment(replaying: failure.schedule)
/// ```
public struct ScheduleFailure: Error, CustomStringConvertible {
  /// What the workflow threw.
  public let underlying: any Error
  /// The steps that lead to it, made as few as possible; for
  /// ``SimulatedEnvironment/init(replaying:)`` and ``exploreSchedules(replaying:fileID:line:of:)``.
  public let schedule: String
  /// How many schedules had been explored before.
  public let scheduleCount: Int
  /// What happened under the schedule.
  public let log: String
  /// Where the exploration was called.
  public let fileID: String
  /// The line of that.
  public let line: Int

  /// What went wrong, the schedule, and the log.
  public var description: String {
    """
    \(fileID):\(line): schedule \(scheduleCount + 1) fails: \(underlying)
    replay it with "\(schedule)":
    \(log)
    """
  }
}

/// Why a schedule failed, when that was not the workflow's own error.
enum ScheduleProblem: Error, CustomStringConvertible {
  case strays([StrayOperation])
  case differs(choice: Int, was: Int, is: Int)

  var description: String {
    switch self {
    case .strays(let strays): strays.map(\.description).joined(separator: "\n")
    case .differs(let choice, let was, let count):
      "The workflow is not deterministic: there were \(was) steps to choose from at choice "
        + "\(choice), and now there are \(count). Take time, chance and threads from the simulation."
    }
  }
}
