import AdvancedOperations
import CoreOperations

/// What is seen, in real time, of one run of a simulation; without a clock of its own.
package struct RunLooks {
  /// Of a clock that stands still while the machine sleeps: a step isn't blocked then.
  package typealias Instant = SuspendingClock.Instant

  package enum Verdict: Equatable {
    case goesOn
    /// One step has gone on for this long.
    case blocked(for: Duration)
    /// Steps are taken, and have been for this long.
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

  /// Looks at the run.
  ///
  /// - Parameters:
  ///   - count: How many steps the simulation has begun.
  ///   - isInStep: Whether one goes on.
  ///   - now: When that is.
  ///   - interval: How long a step, or the run, may take.
  /// - Returns: What to report; a run without an end once, a blocked step at each look.
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
  /// Whether a run that consists of calls of `step()` is over: none was made for a while.
  ///
  /// - Parameters:
  ///   - count: How many steps the simulation has begun.
  ///   - now: When that is.
  ///   - interval: How long the run may take.
  /// - Returns: Whether the pause is at least a quarter of the interval.
  package func isOver(count: Int, at now: Instant, interval: Duration) -> Bool {
    count == seenCount && seenSince.duration(to: now) >= interval / 4
  }
}

/// What is seen, in real time, of an exploration; without a clock of its own.
package struct ExplorationLooks {
  private let begin: SuspendingClock.Instant
  private var lastReport: SuspendingClock.Instant

  package init(at now: SuspendingClock.Instant) {
    begin = now
    lastReport = now
  }

  /// Looks at the exploration.
  ///
  /// - Parameters:
  ///   - now: When that is.
  ///   - interval: How long it may go on without a report.
  /// - Returns: For how long it has gone on, when that is to be reported.
  package mutating func look(
    at now: SuspendingClock.Instant,
    interval: Duration
  ) -> Duration? {
    guard lastReport.duration(to: now) >= interval else { return nil }
    lastReport = now
    return begin.duration(to: now)
  }
}

/// What is seen, in real time, of a simulation that has pending steps and no run; without a clock
/// of its own.
package struct PendingLooks {
  private var runCount: Int?
  private var since: SuspendingClock.Instant

  package init(at now: SuspendingClock.Instant) { since = now }

  /// Looks at the simulation while steps are pending and none is taken.
  ///
  /// - Parameters:
  ///   - runCount: How many runs there were; another one begins the time anew.
  ///   - now: When that is.
  ///   - interval: How long steps may be pending.
  /// - Returns: For how long they have been, once that is too long; nil before.
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

/// How far an exploration is, for the watchdog.
final class ExplorationProgress: Sendable {
  private struct State {
    var seed: UInt64
    /// How many schedules or restarts were explored.
    var count = 0
    weak var simulation: Simulation?
  }

  /// The function that explores.
  let call: String
  /// What it counts.
  private let noun: String
  private let state: Locked<State>

  init(call: String, counting noun: String, seed: UInt64 = 0) {
    self.call = call
    self.noun = noun
    state = Locked(State(seed: seed))
  }

  /// A schedule begins, or a run between two restarts.
  func begins(_ simulation: Simulation) {
    let old = state.withLock { state in
      let old = state.simulation
      state.simulation = simulation
      return old
    }
    withExtendedLifetime(old) {}
  }

  /// The orders of steps that follow from another seed are explored from now on.
  func begins(seed: UInt64) { state.withLock { $0.seed = seed } }

  /// Some of what is counted was explored.
  func explored(_ count: Int = 1) { state.withLock { $0.count += count } }

  /// The real time between two reports: that of the current simulation.
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

/// Whether the task that calls this is cancelled.
var isCallerCancelled: Bool { unsafe withUnsafeCurrentTask { unsafe $0?.isCancelled == true } }
