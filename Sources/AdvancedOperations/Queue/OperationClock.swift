import CoreOperations
import Synchronization

/// A clock whose times are durations since its origin, from any `Clock` that measures in `Duration`.
///
/// ```swift
/// let clock = OperationClock(ContinuousClock())
/// try await clock.sleep(for: .seconds(3))
/// let deadline = clock.now + .seconds(3)
/// try await clock.sleep(until: deadline)
/// ```
///
/// Durations that you pass to operations may have any length. If a duration is added to a time, the sum is
/// limited to the last time of the clock, 2.9e11 years from its origin. A wait until then is in practice a
/// wait forever.
public struct OperationClock: Sendable {
  /// The implementation of a clock.
  ///
  /// A timer needs no task if the clock has its own timers. A source is an object, because clocks are passed
  /// with each claim, and copying other existentials needs the metadata of their type.
  package protocol Source: AnyObject, Sendable {
    var now: Duration { get }
    /// The time in nanoseconds.
    var nanoseconds: Int64 { get }
    /// An object that all copies of the clock retain, and that no other clock has.
    var identity: ClockIdentity { get }
    func sleep(until deadline: Duration) async throws
    func schedule(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> OperationTimer
  }

  private let source: any Source

  /// Creates a clock.
  ///
  /// A cancelled wait for a `ContinuousClock` or a `SuspendingClock` keeps no memory. For another clock, its
  /// `sleep` decides whether a cancelled wait keeps memory: `Task.sleep` keeps some hundred bytes until its
  /// time has come.
  ///
  /// - Parameter clock: The clock to measure with. The origin is the time of this call, except for the two
  ///   system clocks, each of which has one origin for the whole process.
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
  /// In a test, the current clock is the clock of the simulation, even in code that `simulation.run { … }`
  /// runs. If ``AdvancedOperation/current`` is nil, for example in a detached task, the current clock is the
  /// default clock, a `ContinuousClock`. In an observer, ``AdvancedOperation/current`` may be nil too, so use
  /// the clock of the operation's ``AdvancedOperation/environment`` there.
  public static var current: OperationClock { OperationEnvironment.ofCaller.clock }

  /// The time since the clock's origin.
  public var now: Duration { source.now }

  /// The time since the clock's origin, in nanoseconds.
  package var nanoseconds: Int64 { source.nanoseconds }

  /// An identity that is the same for clocks whose times can be compared.
  package var identity: ClockIdentity { source.identity }

  /// Suspends the task until a time.
  ///
  /// - Parameter deadline: A time of this clock, as ``now`` returns it. If it is in the past, the method
  ///   returns immediately.
  /// - Throws: `CancellationError` if the task is cancelled first.
  public func sleep(until deadline: Duration) async throws {
    try await source.sleep(until: deadline)
  }

  /// Suspends the task for a duration.
  ///
  /// ```swift
  /// try await OperationClock.current.sleep(for: .seconds(30))
  /// ```
  ///
  /// - Parameter duration: The time to wait. If it isn't positive, the method returns immediately.
  /// - Throws: `CancellationError` if the task is cancelled first.
  public func sleep(for duration: Duration) async throws {
    try await sleep(until: now.saturatingAdding(duration))
  }

  /// Calls a closure at a time.
  ///
  /// - Parameters:
  ///   - deadline: A time of this clock. A time in the past means now.
  ///   - action: A closure that is called once, on any thread. The closure is released as soon as the timer
  ///     is cancelled.
  /// - Returns: The timer, whose `cancel()` prevents the call.
  public func schedule(
    at deadline: Duration,
    _ action: @escaping @Sendable () -> Void
  ) -> OperationTimer { source.schedule(at: deadline, action) }
}

extension OperationClock.Source {
  package var nanoseconds: Int64 { now.wholeNanoseconds }
}

/// An object that distinguishes a clock from all others, including clocks that don't exist any more.
package final class ClockIdentity: Sendable {
  // Relaxed ordering is enough, because the numbers only have to differ.
  private static let lastNumber = Atomic<UInt64>(0)
  /// A number isn't reused, unlike an address.
  let number = lastNumber.add(1, ordering: .relaxed).newValue
  /// A Boolean value that indicates whether the clock exists for as long as the process.
  package let isLasting: Bool

  package init(isLasting: Bool = false) { self.isLasting = isLasting }
}

/// A system clock, whose timers and sleepers wait in one table.
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

/// Any other clock, with one task for each timer.
private final class AnySource<C: Clock>: OperationClock.Source where C.Duration == Duration {
  let clock: C
  let origin: C.Instant
  let identity = ClockIdentity()

  init(_ clock: C) {
    self.clock = clock
    origin = clock.now
  }

  var now: Duration { origin.duration(to: clock.now).clamped }

  /// Sleeps in steps, a century at first and then twice as long each time.
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

/// A call that is scheduled at a time.
///
/// ```swift
/// let timer = clock.schedule(at: clock.now + .seconds(30)) { giveUp() }
/// timer.cancel()
/// ```
public final class OperationTimer: Sendable {
  private struct State {
    var action: (@Sendable () -> Void)?
    var sleeper: Task<Void, any Error>?
    /// The table in which the timer waits for its time, under its number.
    weak var table: (any TimerTable)?
    var number = 0
  }

  private let state: Locked<State>

  package init(_ action: @escaping @Sendable () -> Void) { state = Locked(State(action: action)) }

  /// Makes the call, unless it was made or the timer was cancelled.
  package func fire() { take().action?() }

  /// A Boolean value that indicates whether the call is still to be made.
  package var isPending: Bool { state.withLock { $0.action != nil } }

  /// Prevents the call if it hasn't been made, and releases the closure immediately, even if its time is far
  /// away.
  public func cancel() {
    let old = take()
    old.sleeper?.cancel()
    old.table?.timerCancelled(old.number)
  }

  /// Stores the task that waits for the time, so that it is cancelled with the timer.
  func cancelled(with sleeper: Task<Void, any Error>) {
    let isOver = state.withLock { state in
      if state.action != nil { state.sleeper = sleeper }
      return state.action == nil
    }
    if isOver { sleeper.cancel() }
  }

  /// Stores the table that keeps the timer, so that it removes the timer if it is cancelled.
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
  /// Removes a timer that was cancelled; does nothing if the timer was removed before.
  func timerCancelled(_ number: Int)
}
