import CoreOperations

/// The number of schedules and interruptions that an exploration has tried, and whether these are all
/// moments.
///
/// ```swift
/// let report = try exploreInterruptions(of: build, interrupt: cancel, check: hasNoOrphans)
/// print(report)
/// #expect(report.isComplete)
/// ```
///
/// The description is *33 interruptions in 3 schedules, one at each moment*, for example.
public struct InterruptionReport: Sendable, Hashable, CustomStringConvertible {
  /// The number of schedules, which are orders of the steps drawn at random; some may be equal.
  public internal(set) var scheduleCount = 0
  /// The number of interruptions, in all schedules together.
  public internal(set) var interruptionCount = 0
  /// Whether each schedule was interrupted at each of its moments: before, between and after its steps.
  ///
  /// False if a schedule has more steps than `upToStep`. True doesn't mean that all schedules were tried.
  /// Only an exploration of schedules reports this, with ``ScheduleReport/isComplete``.
  public internal(set) var isComplete = true

  /// A line with the numbers of the report.
  public var description: String {
    "\(counted(interruptionCount, "interruption")) in \(counted(scheduleCount, "schedule")), "
      + (isComplete
        ? "one at each moment"
        : "and there are later moments: to try more, pass a larger upToStep:")
  }
}
