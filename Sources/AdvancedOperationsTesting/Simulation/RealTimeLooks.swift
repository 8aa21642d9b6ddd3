import AdvancedOperations
import CoreOperations

/// The observations of one run of a simulation in real time; the caller passes the time.
package struct RunLooks {
  /// The instants of a clock that stops while the machine sleeps, because a step isn't blocked
  /// then.
  package typealias Instant = SuspendingClock.Instant

  package enum Verdict: Equatable {
    case goesOn
    /// A step has been running for this duration.
    case blocked(for: Duration)
    /// The run has been taking steps for this duration.
    case endless(steps: Int, for: Duration)
  }

  private let begin: Instant
  /// The number of steps before the run.
  private let firstCount: Int
  private var seenCount: Int?
  private var seenSince: Instant
  private var hasReported = false

  package init(after count: Int, at now: Instant) {
    begin = now
    firstCount = count
    seenSince = now
  }

  /// Checks the run.
  ///
  /// - Parameters:
  ///   - count: The number of steps that the simulation has begun.
  ///   - isInStep: Whether a step is running.
  ///   - now: The time of the check.
  ///   - interval: The time that a step, or the run, may take.
  /// - Returns: The verdict. A run without an end is reported once, and a blocked step at each
  ///   check.
  package mutating func look(
    count: Int,
    isInStep: Bool,
    at now: Instant,
    interval: Duration
  ) -> Verdict {
    if count == seenCount {
      let duration = seenSince.duration(to: now)
      return isInStep && duration >= interval ? .blocked(for: duration) : .goesOn
    }
    let hasLookedBefore = seenCount != nil
    seenCount = count
    seenSince = now
    let duration = begin.duration(to: now)
    guard hasLookedBefore, !hasReported, duration >= interval else { return .goesOn }
    hasReported = true
    return .endless(steps: count - firstCount, for: duration)
  }
}

extension RunLooks {
  /// Returns whether a run of `step()` calls is over, because there was no call for a while.
  ///
  /// - Parameters:
  ///   - count: The number of steps that the simulation has begun.
  ///   - now: The time of the check.
  ///   - interval: The time that the run may take.
  /// - Returns: Whether the pause is at least a quarter of the interval.
  package func isOver(count: Int, at now: Instant, interval: Duration) -> Bool {
    count == seenCount && seenSince.duration(to: now) >= interval / 4
  }
}

/// The observations of an exploration in real time; the caller passes the time.
package struct ExplorationLooks {
  private let begin: SuspendingClock.Instant
  private var lastReport: SuspendingClock.Instant

  package init(at now: SuspendingClock.Instant) {
    begin = now
    lastReport = now
  }

  /// Checks the exploration.
  ///
  /// - Parameters:
  ///   - now: The time of the check.
  ///   - interval: The time between two reports.
  /// - Returns: The duration of the exploration if a report is due; otherwise nil.
  package mutating func look(
    at now: SuspendingClock.Instant,
    interval: Duration
  ) -> Duration? {
    guard lastReport.duration(to: now) >= interval else { return nil }
    lastReport = now
    return begin.duration(to: now)
  }
}

/// The observations of a simulation with pending steps and without a run; the caller passes the
/// real time.
package struct PendingLooks {
  private var runCount: Int?
  private var since: SuspendingClock.Instant

  package init(at now: SuspendingClock.Instant) { since = now }

  /// Checks the simulation while steps are pending and no run takes them.
  ///
  /// - Parameters:
  ///   - runCount: The number of runs so far; a new run restarts the time.
  ///   - now: The time of the check.
  ///   - interval: The time for which steps may be pending.
  /// - Returns: The time for which steps have been pending, if it is too long; otherwise nil.
  package mutating func look(
    runCount: Int,
    at now: SuspendingClock.Instant,
    interval: Duration
  ) -> Duration? {
    if runCount != self.runCount {
      self.runCount = runCount
      since = now
    }
    let duration = since.duration(to: now)
    return duration >= interval ? duration : nil
  }
}

/// The progress of an exploration, for the watchdog.
final class ExplorationProgress: Sendable {
  private struct State {
    var seed: UInt64
    /// The number of schedules, restarts or interruptions that were explored.
    var count = 0
    weak var simulation: Simulation?
  }

  /// The name of the function that explores.
  let call: String
  /// The noun for the count of the exploration, such as “schedule”.
  private let noun: String
  private let state: Locked<State>

  init(call: String, counting noun: String, seed: UInt64 = 0) {
    self.call = call
    self.noun = noun
    state = Locked(State(seed: seed))
  }

  /// Notes that a schedule, or a run between two restarts, begins.
  func begins(_ simulation: Simulation) {
    let old = state.withLock { state in
      let old = state.simulation
      state.simulation = simulation
      return old
    }
    withExtendedLifetime(old) {}
  }

  /// Notes that the exploration continues with the orders of steps of another seed.
  func begins(seed: UInt64) { state.withLock { $0.seed = seed } }

  /// Adds to the number of explored schedules, restarts or interruptions.
  func explored(_ count: Int = 1) { state.withLock { $0.count += count } }

  /// The real time between two reports, which is the interval of the current simulation.
  var interval: Duration {
    state.withLock { $0.simulation }?.watchdogInterval ?? .seconds(10)
  }

  func sentence(after duration: Duration) -> String {
    let (seed, count, simulation) = state.withLock { ($0.seed, $0.count, $0.simulation) }
    let steps = simulation.map { simulation in
      let count = simulation.withState { $0.takenCount }
      return ", and \(counted(count, "step")) of the current run"
    }
    return "\(call): \(counted(count, noun)) in \(duration.readable) of real time\(steps.orEmpty) "
      + "(seed \(seed))."
  }
}

/// Whether the calling task is cancelled.
var isCallerCancelled: Bool { unsafe withUnsafeCurrentTask { unsafe $0?.isCancelled == true } }
