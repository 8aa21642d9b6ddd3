/// A schedule under which a workflow does not do what it should.
///
/// The description says how to take the same steps again:
///
/// ```swift
/// let simulation = SimulatedEnvironment(replaying: failure.schedule)
/// ```
///
/// A replay with ``exploreSchedules(replaying:fileID:line:of:)`` throws one as well.
public struct ScheduleFailure: Error, CustomStringConvertible {
  /// What the workflow threw, or what is wrong with it.
  ///
  /// That is: it left steps pending or took none, an operation has left the simulation, it isn't
  /// the same each time, or the schedule that is replayed doesn't fit it.
  public let underlying: any Error
  /// The steps that lead to it, made as few as possible; for
  /// ``SimulatedEnvironment/init(replaying:)`` and ``exploreSchedules(replaying:fileID:line:of:)``.
  public let schedule: String
  /// How many schedules had been run by then, with this one: the number of the schedule, which is 1
  /// for a replay.
  public let scheduleCount: Int
  /// What happened under the schedule.
  public let log: String
  /// What else is wrong.
  let note: String?
  /// Where the exploration was called.
  public let fileID: String
  /// The line of that.
  public let line: Int

  /// What went wrong, the schedule, and the log.
  public var description: String {
    // A schedule that doesn't fit can't be replayed.
    let fits = if case .misfit = underlying as? ScheduleProblem { false } else { true }
    let replay =
      fits ? "replay it with exploreSchedules(replaying: \"\(schedule)\") { … }:" : "its steps:"
    let remark = note.map { "\n" + $0 } ?? ""
    return """
      \(fileID):\(line): schedule \(scheduleCount) fails: \(underlying)\(remark)
      \(replay)
      \(log)
      """
  }
}
