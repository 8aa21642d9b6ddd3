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
    replay it with exploreSchedules(replaying: "\(schedule)") { … }:
    \(log)
    """
  }
}

/// Why a schedule failed, when that was not the workflow's own error.
enum ScheduleProblem: Error, CustomStringConvertible {
  case strays([StrayOperation])
  /// With the same choices: what happened last before that in both runs, and what then in each of
  /// them; nil where the run was over, or the same for both when a choice was among another number
  /// of steps.
  case differs(after: String?, was: String?, is: String?)

  var description: String {
    switch self {
    case .strays(let strays): strays.map(\.description).joined(separator: "\n")
    case .differs(let last, let was, let now):
      "The workflow is not deterministic: with the same choices, "
        + (last.map { "after “\($0)” " } ?? "at the beginning ")
        + "there was \(Self.quoted(was)) before, and now there is \(Self.quoted(now)). Make "
        + "everything that it uses in it, and take time, chance and threads from the simulation."
    }
  }

  /// Whether the same schedule fails in this way again.
  var isRepeatable: Bool {
    switch self {
    case .strays: true
    case .differs: false
    }
  }

  private static func quoted(_ line: String?) -> String { line.map { "“\($0)”" } ?? "nothing" }

  /// Compares two logs of the same choices; nil if they are equal.
  init?(_ log: [String], differsFrom old: [String]) {
    if log == old { return nil }
    let same = zip(log, old).prefix { $0 == $1 }.count
    self = .differs(
      after: same > 0 ? old[same - 1] : nil,
      was: same < old.count ? old[same] : nil,
      is: same < log.count ? log[same] : nil
    )
  }
}
