import CoreOperations

/// How many schedules were explored, and whether there are more.
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
  /// How many different schedules were explored depth first.
  public var scheduleCount = 0
  /// How many were begun and left, because they led to a state from which all was explored before.
  public var prunedCount = 0
  /// How many more were drawn at random, because there were too many; some may be equal.
  public var randomCount = 0
  /// Whether the schedules explored depth first are all that there are.
  public var isComplete = false

  /// One line with the numbers.
  public var description: String {
    let schedules = counted(scheduleCount, "schedule")
    let pruned =
      prunedCount == 0
      ? "" : " (\(prunedCount) more ended early, in a state that was reached before)"
    if isComplete, scheduleCount == 1 { return "\(schedules)\(pruned); there are no more" }
    if isComplete { return "all \(schedules)\(pruned)" }
    return "\(schedules) depth first\(pruned), and \(randomCount) at random; "
      + "there are more: to try all, explore fewer operations; to try more, pass a larger "
      + "depthFirst: or random:"
  }
}
