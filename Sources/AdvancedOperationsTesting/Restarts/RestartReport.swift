import CoreOperations

/// The number of schedules and restarts that an exploration has tried.
///
/// ```swift
/// let report = try exploreRestarts(randomSchedules: 10, of: buildAndPack)
/// #expect(report.scheduleCount == 10)
/// ```
///
/// The description is *412 restarts in 10 schedules*, for example.
public struct RestartReport: Sendable, Hashable, CustomStringConvertible {
  /// The number of schedules, which are orders of the steps drawn at random; some may be equal.
  public internal(set) var scheduleCount = 0
  /// The number of restarts, in all schedules together.
  public internal(set) var restartCount = 0

  /// A line with the numbers of the report.
  public var description: String {
    "\(counted(restartCount, "restart")) in \(counted(scheduleCount, "schedule"))"
  }
}
