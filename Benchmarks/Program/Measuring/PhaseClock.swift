/// Takes the times at which a run passes from one phase to the next.
struct PhaseClock {
  private let begun = ContinuousClock.now
  private var built: ContinuousClock.Instant?
  private var ran: ContinuousClock.Instant?
  private var leftOut = Duration.zero

  /// All operations exist, and none was handed over.
  mutating func markBuilt() { built = .now }

  /// All have ended, and their memory is still held.
  mutating func markRan() { ran = .now }

  /// So long was spent on what isn't measured.
  mutating func leaveOut(_ duration: Duration) { leftOut += duration }

  /// The times of the phases; what was not marked has none of its own and counts as running.
  func times(until end: ContinuousClock.Instant) -> PhaseTimes {
    PhaseTimes(
      wall: (end - begun - leftOut).seconds,
      build: built.map { ($0 - begun).seconds } ?? 0,
      release: ran.map { (end - $0).seconds } ?? 0
    )
  }
}

/// Where the time of a run went, in seconds.
struct PhaseTimes: Sendable {
  var wall = 0.0
  var build = 0.0
  var release = 0.0

  var run: Double { wall - build - release }

  static func += (sum: inout PhaseTimes, other: PhaseTimes) {
    sum.wall += other.wall
    sum.build += other.build
    sum.release += other.release
  }
}
