import AdvancedOperations
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

  /// The virtual times at which steps were taken that may be taken at any time, by the names of the
  /// steps.
  ///
  /// See ``SimulatedEnvironment/addStep(_:atAnyTime:_:)``.
  public var timesOfSteps: [String: Set<Duration>] = [:]

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
      + "depthFirst: or random:\(timesInWords)"
  }
}
