import CoreOperations
import Synchronization

/// A clock whose time is a plain duration: any `Clock` that measures in `Duration`.
///
/// ```swift
/// let clock = OperationClock(ContinuousClock())
/// try await clock.sleep(for: .seconds(3))
/// let deadline = clock.now + .seconds(3)
/// try await clock.sleep(until: deadline)
/// ```
///
/// Durations that are given to operations may be as long as can be: where they are added to a time,
/// the result ends at the last one that can be told, 2.9e11 years from the origin. A wait until
/// then is as good as one for ever.
public struct OperationClock: Sendable {
  /// What a clock does.
  ///
  /// A timer needs no task where the clock can do without. An object, because clocks are handed on
  /// with each claim, and other existentials are copied by way of their type's metadata.
  package protocol Source: AnyObject, Sendable {
    var now: Duration { get }
    /// The same, in nanoseconds.
    var nanoseconds: Int64 { get }
    /// An object that all copies of the clock keep alive, and no other clock has.
    var identity: ClockIdentity { get }
    func sleep(until deadline: Duration) async throws
    func schedule(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> OperationTimer
  }

  private let source: any Source

  /// Creates a clock.
  ///
  /// A wait for a `ContinuousClock` or a `SuspendingClock` that is cancelled keeps nothing. What
  /// one for another clock keeps, and until when, is up to the `sleep` of that clock: `Task.sleep`
  /// keeps some hundred bytes until the time has come.
  ///
  /// - Parameter clock: Its time counts from now on; that of the two clocks of the system from one
  ///   moment that all share.
  public init<C: Clock>(_ clock: C) where C.Duration == Duration {
    source =
      switch clock {
      case is ContinuousClock: SystemTimers.continuous
      case is SuspendingClock: SystemTimers.suspending
      default: AnySource(clock)
      }
  }

  package init(source: any Source) { self.source = source }

  /// The clock of the operation whose code calls this.
  ///
  /// ```swift
  /// let poll = ResultOperation(name: "poll") {
  ///   while try await !server.isReady() {
  ///     try await OperationClock.current.sleep(for: .seconds(30))
  ///   }
  /// }
  /// ```
  ///
  /// In a test that is the clock of the simulation, also in the code that `simulation.run { … }`
  /// runs. Where ``AdvancedOperation/current`` is nil, for example in a detached task, it is the
  /// default clock: a `ContinuousClock`. Some observers are notified where it is nil: take the
  /// clock of the operation's ``AdvancedOperation/environment`` there.
  public static var current: OperationClock { OperationEnvironment.ofCaller.clock }

  /// The time since the clock's origin.
  public var now: Duration { source.now }

  /// The same, in nanoseconds.
  package var nanoseconds: Int64 { source.nanoseconds }

  /// The same for clocks whose times can be compared.
  package var identity: ClockIdentity { source.identity }

  /// Suspends the task until a time.
  ///
  /// - Parameter deadline: A time of this clock, as ``now`` gives it; for one in the past, returns
  ///   at once.
  /// - Throws: `CancellationError` when the task is cancelled first.
  public func sleep(until deadline: Duration) async throws {
    try await source.sleep(until: deadline)
  }

  /// Suspends the task for a duration.
  ///
  /// ```swift
  /// try await OperationClock.current.sleep(for: .seconds(30))
  /// ```
  ///
  /// - Parameter duration: For one that isn't positive, returns at once.
  /// - Throws: `CancellationError` when the task is cancelled first.
  public func sleep(for duration: Duration) async throws {
    try await sleep(until: now.saturatingAdding(duration))
  }

  /// Calls a closure at a time.
  ///
  /// - Parameters:
  ///   - deadline: A time of this clock; one in the past is now.
  ///   - action: Called once, on any thread; released as soon as the timer is
  ///     cancelled.
  /// - Returns: The timer, whose `cancel()` prevents the call.
  public func schedule(
    at deadline: Duration,
    _ action: @escaping @Sendable () -> Void
  ) -> OperationTimer { source.schedule(at: deadline, action) }
}

extension OperationClock.Source {
  package var nanoseconds: Int64 { now.wholeNanoseconds }
}

/// Tells one clock from all others, also from those that are gone, and whether it still exists.
package final class ClockIdentity: Sendable {
  // Relaxed: it orders nothing, it only has to differ.
  private static let lastNumber = Atomic<UInt64>(0)
  /// Unlike an address, it isn't used again.
  let number = lastNumber.add(1, ordering: .relaxed).newValue
  /// Whether the clock exists for as long as the process.
  package let isLasting: Bool

  package init(isLasting: Bool = false) { self.isLasting = isLasting }
}

/// A clock of the system, whose timers and sleepers wait in one table.
extension SystemTimers: OperationClock.Source {
  package func sleep(until deadline: Duration) async throws {
    let wait = AsyncWait()
    let timer = OperationTimer { wait.finish() }
    try await wait.run { _ in
      guard deadline > now else { return false }
      add(timer, at: deadline)
      return true
    } unregister: { _ in
      timer.cancel()
    }
  }

  package func schedule(
    at deadline: Duration,
    _ action: @escaping @Sendable () -> Void
  ) -> OperationTimer {
    let timer = OperationTimer(action)
    add(timer, at: deadline)
    return timer
  }
}

/// Any other clock, with a task for each timer.
private final class AnySource<C: Clock>: OperationClock.Source where C.Duration == Duration {
  let clock: C
  let origin: C.Instant
  let identity = ClockIdentity()

  init(_ clock: C) {
    self.clock = clock
    origin = clock.now
  }

  var now: Duration { origin.duration(to: clock.now).clamped }

  /// Sleeps a century at first, and if that has passed twice as long, and so on.
  ///
  /// Many clocks count nanoseconds in 64 bits, and trap at times that are further away.
  func sleep(until deadline: Duration) async throws {
    var longest = Duration.seconds(3_000_000_000 as Int64)
    while true {
      let end = min(deadline.clamped, now.saturatingAdding(longest))
      try await clock.sleep(until: origin.advanced(by: end), tolerance: nil)
      if end == deadline.clamped { return }
      longest = longest.saturatingMultiplied(by: 2)
    }
  }

  func schedule(
    at deadline: Duration,
    _ action: @escaping @Sendable () -> Void
  ) -> OperationTimer {
    let timer = OperationTimer(action)
    timer.cancelled(
      with: Task(executorPreference: BodyExecutor.preferred) {
        try await self.sleep(until: deadline)
        timer.fire()
      }
    )
    return timer
  }
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
    /// Where the timer waits for its time, under which number.
    weak var table: (any TimerTable)?
    var number = 0
  }

  private let state: Locked<State>

  package init(_ action: @escaping @Sendable () -> Void) { state = Locked(State(action: action)) }

  /// Makes the call, unless that was done or the timer was cancelled.
  package func fire() { take().action?() }

  /// Whether the call is still to be made.
  package var isPending: Bool { state.withLock { $0.action != nil } }

  /// Prevents the call, if it hasn't been made, and lets go of it at once, however far its time is.
  public func cancel() {
    let old = take()
    old.sleeper?.cancel()
    old.table?.timerCancelled(old.number)
  }

  /// Has a task cancelled with the timer: the one that waits for the time.
  func cancelled(with sleeper: Task<Void, any Error>) {
    let isOver = state.withLock { state in
      if state.action != nil { state.sleeper = sleeper }
      return state.action == nil
    }
    if isOver { sleeper.cancel() }
  }

  /// Has a table forget the timer when it is cancelled; the table has taken it in.
  package func wasTaken(into table: any TimerTable, as number: Int) {
    let isOver = state.withLock { state in
      if state.action != nil {
        state.table = table
        state.number = number
      }
      return state.action == nil
    }
    if isOver { table.timerCancelled(number) }
  }

  private func take() -> State {
    state.withLock { state in
      defer { state = State() }
      return state
    }
  }
}

/// Keeps timers until their time has come.
package protocol TimerTable: AnyObject, Sendable {
  /// A timer was cancelled: forgets it; nothing happens if that has been done.
  func timerCancelled(_ number: Int)
}
