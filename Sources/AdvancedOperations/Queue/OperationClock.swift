import CoreOperations
import Dispatch

/// A clock whose time is a plain duration: any `Clock` that measures in `Duration`.
///
/// ```swift
/// let clock = OperationClock(ContinuousClock())
/// let deadline = clock.now + .seconds(3)
/// try await clock.sleep(until: deadline)
/// ```
public struct OperationClock: Sendable {
  /// What a clock does.
  ///
  /// A timer needs no task where the clock can do without.
  package protocol Source: Sendable {
    var now: Duration { get }
    /// An object that all copies of the clock keep alive, and no other clock has.
    var identity: ClockIdentity { get }
    func sleep(until deadline: Duration) async throws
    func schedule(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> OperationTimer
  }

  private let source: any Source

  /// Creates a clock.
  ///
  /// - Parameter clock: Its time counts from now on, or, for the continuous clock, from one moment
  ///   that all share.
  public init<C: Clock>(_ clock: C) where C.Duration == Duration {
    if let clock = clock as? ContinuousClock {
      source = ContinuousSource(clock: clock)
    } else {
      source = AnySource(clock: clock, origin: clock.now)
    }
  }

  package init(source: any Source) { self.source = source }

  /// The time since the clock's origin.
  public var now: Duration { source.now }

  /// The same for clocks whose times can be compared.
  var identity: ClockIdentity { source.identity }

  /// Suspends the task until a time.
  ///
  /// - Parameter deadline: A time of this clock, as ``now`` gives it.
  /// - Throws: `CancellationError` when the task is cancelled first.
  public func sleep(until deadline: Duration) async throws {
    try await source.sleep(until: deadline)
  }

  /// Calls a closure at a time.
  ///
  /// - Parameters:
  ///   - deadline: A time of this clock; one in the past is now.
  ///   - action: Called once, on any thread; released when the timer is cancelled.
  /// - Returns: Cancels the call when told to.
  public func schedule(
    at deadline: Duration,
    _ action: @escaping @Sendable () -> Void
  ) -> OperationTimer { source.schedule(at: deadline, action) }
}

/// A call that is due at a time.
///
/// ```swift
/// let timer = clock.schedule(at: clock.now + .seconds(30)) { giveUp() }
/// timer.cancel()
/// ```
public final class OperationTimer: Sendable {
  private struct State {
    var action: (@Sendable () -> Void)?
    var sleeper: Task<Void, any Error>?
  }

  private let state: Locked<State>

  package init(_ action: @escaping @Sendable () -> Void) { state = Locked(State(action: action)) }

  /// Makes the call, unless that was done or the timer was cancelled.
  package func fire() { take().action?() }

  /// Whether the call is still to be made.
  package var isPending: Bool { state.withLock { $0.action != nil } }

  /// Prevents the call, if it hasn't been made, and lets go of it.
  public func cancel() { take().sleeper?.cancel() }

  /// Has a task cancelled with the timer: the one that waits for the time.
  func cancelled(with sleeper: Task<Void, any Error>) {
    let isOver = state.withLock { state in
      if state.action != nil { state.sleeper = sleeper }
      return state.action == nil
    }
    if isOver { sleeper.cancel() }
  }

  private func take() -> State {
    state.withLock { state in
      defer { state = State() }
      return state
    }
  }
}

/// Tells one clock from all others, also from those that are gone, and whether it still exists.
package final class ClockIdentity: Sendable {
  let number = ObjectNumber()

  package init() {}
}

/// The continuous clock, with Dispatch for timers.
private struct ContinuousSource: OperationClock.Source {
  static let origin = ContinuousClock.now
  private static let shared = ClockIdentity()
  let clock: ContinuousClock

  var identity: ClockIdentity { Self.shared }

  var now: Duration { Self.origin.duration(to: clock.now) }

  func sleep(until deadline: Duration) async throws {
    try await clock.sleep(until: Self.origin.advanced(by: deadline))
  }

  func schedule(
    at deadline: Duration,
    _ action: @escaping @Sendable () -> Void
  ) -> OperationTimer {
    let timer = OperationTimer(action)
    // Dispatch counts nanoseconds in 64 bits; what is further away than a century never comes.
    let delay = max(deadline - now, .zero)
    guard delay < .seconds(3_000_000_000) else { return timer }
    let wait = DispatchTimeInterval.nanoseconds(Int(delay / .nanoseconds(1)))
    DispatchQueue.global().asyncAfter(deadline: .now() + wait) { timer.fire() }
    return timer
  }
}

/// Any other clock, with a task for each timer.
private struct AnySource<C: Clock>: OperationClock.Source where C.Duration == Duration {
  let clock: C
  let origin: C.Instant
  let identity = ClockIdentity()

  init(clock: C, origin: C.Instant) {
    self.clock = clock
    self.origin = origin
  }

  var now: Duration { origin.duration(to: clock.now) }

  func sleep(until deadline: Duration) async throws {
    try await clock.sleep(until: origin.advanced(by: deadline), tolerance: nil)
  }

  func schedule(
    at deadline: Duration,
    _ action: @escaping @Sendable () -> Void
  ) -> OperationTimer {
    let timer = OperationTimer(action)
    timer.cancelled(
      with: Task {
        try await sleep(until: deadline)
        timer.fire()
      }
    )
    return timer
  }
}
