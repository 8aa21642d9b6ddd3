/// The time by which a run has to end.
public struct RunDeadline: Sendable, Equatable {
  /// The time that the run has, from the start of the process that runs it.
  public var duration: Duration
  /// The deadline as people wrote it, if they wrote a time of day: `06:30`.
  public var timeOfDay: String?

  /// Creates a deadline.
  public init(after duration: Duration, timeOfDay: String? = nil) {
    self.duration = duration
    self.timeOfDay = timeOfDay
  }

  /// Why the run is cancelled at its deadline, as a part of a sentence.
  public var reason: String {
    "the run's time was over \(timeOfDay.map { "at \($0)" } ?? "after \(duration.words)")"
  }
}
