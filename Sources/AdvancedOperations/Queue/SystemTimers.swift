import CoreOperations
import Dispatch

/// The timers of a system clock, with Dispatch timers for the first of them.
///
/// `DispatchQueue.asyncAfter` keeps its closure until its time has come, and so does a task that sleeps and
/// is cancelled. Such a closure or task costs some hundred bytes for an hour after each operation that could
/// have taken an hour. Here a cancelled timer is removed.
package final class SystemTimers: TimerTable {
  private struct State {
    var timers: [Int: OperationTimer] = [:]
    /// The numbers of timers by their times, including some that were removed.
    var order = IndexedHeap<HeapEntry<Duration>>()
    var lastNumber = 0
    /// The time at which the alarms are due; nil if they aren't set.
    var wakeTime: Duration?
    var alarms: [Alarm] = []
  }

  /// The timers of `ContinuousClock`, whose time counts from when the process first read it.
  ///
  /// The uptime stands still while the machine sleeps, so an alarm by uptime alone would be late by the whole
  /// sleep. The wall clock doesn't stand still, but a user may set it back. The earlier of the two alarms
  /// wakes this object, which reads its own clock to find the timers that are due.
  package static let continuous = SystemTimers(
    reading: { MonotonicClock.continuousNanoseconds },
    wokenBy: [.uptime, .wall],
    isLasting: true
  )
  /// The timers of `SuspendingClock`, which stands still while the machine sleeps.
  package static let suspending = SystemTimers(of: SuspendingClock(), isLasting: true)

  /// The maximum time between two wakes, because the clocks of Dispatch may differ from the clock of this
  /// object.
  private static let longestSleep = Duration.seconds(86_400)

  package let identity: ClockIdentity
  package let alarmClocks: [AlarmClock]
  private let time: @Sendable () -> Int64
  private let state = Locked(State())

  package convenience init<C: Clock>(
    of clock: C,
    wokenBy alarmClocks: [AlarmClock] = [.uptime],
    isLasting: Bool = false
  ) where C.Duration == Duration {
    let origin = clock.now
    self.init(
      reading: { origin.duration(to: clock.now).wholeNanoseconds },
      wokenBy: alarmClocks,
      isLasting: isLasting
    )
  }

  /// - Parameters:
  ///   - nanoseconds: A closure that returns the time since a fixed moment.
  ///   - alarmClocks: The Dispatch clocks whose alarms wake this object.
  ///   - isLasting: A Boolean value that indicates whether the clock exists for as long as the process.
  private init(
    reading nanoseconds: @escaping @Sendable () -> Int64,
    wokenBy alarmClocks: [AlarmClock],
    isLasting: Bool
  ) {
    identity = ClockIdentity(isLasting: isLasting)
    self.alarmClocks = alarmClocks
    let origin = nanoseconds()
    time = { nanoseconds() - origin }
  }

  deinit { state.withLock { for alarm in $0.alarms { alarm.cancel() } } }

  /// The time since the origin.
  package var now: Duration { .nanoseconds(nanoseconds) }

  package var nanoseconds: Int64 { time() }

  /// The number of timers whose time has not come.
  package var count: Int { state.withLock { $0.timers.count } }

  /// Adds a timer.
  ///
  /// - Parameters:
  ///   - timer: The timer, which is fired on a thread of the shared pool unless it is cancelled before.
  ///   - deadline: The time of the timer. A time in the past means now.
  func add(_ timer: OperationTimer, at deadline: Duration) {
    let now = now
    let number = state.withLock { state in
      state.lastNumber += 1
      state.timers[state.lastNumber] = timer
      state.order.insert(HeapEntry(state.lastNumber, key: deadline, ticket: state.lastNumber))
      setAlarms(&state, now)
      return state.lastNumber
    }
    timer.wasTaken(into: self, as: number)
  }

  package func timerCancelled(_ number: Int) {
    let timer = state.withLock { state -> OperationTimer? in
      guard let timer = state.timers.removeValue(forKey: number) else { return nil }
      if state.timers.isEmpty {
        // Empty collections are assigned in order to free their memory as well.
        state.timers = [:]
        state.order = IndexedHeap()
      } else if state.order.count > 2 * state.timers.count {
        state.order.removeAll { state.timers[$0.value] == nil }
      }
      return timer
    }
    withExtendedLifetime(timer) {}
  }

  /// Sets the alarms for the first timer, unless they are due before.
  private func setAlarms(_ state: inout State, _ now: Duration) {
    guard let first = state.order.first?.key, first < state.wakeTime ?? .longest else { return }
    let delay = min(max(first.saturatingSubtracting(now), .zero), Self.longestSleep)
    state.wakeTime = now.saturatingAdding(delay)
    if state.alarms.isEmpty {
      // A serial queue gets a thread when it needs a thread. The few threads of the global queues also run
      // tasks, so code that blocks them would stop the time.
      let queue = DispatchQueue(label: "timers of operations")
      state.alarms = alarmClocks.map { clock in
        Alarm(by: clock, on: queue) { [weak self] in self?.wake() }
      }
    }
    for alarm in state.alarms { alarm.set(after: delay) }
  }

  /// Fires the timers that are due.
  private func wake() {
    let now = now
    let due = state.withLock { state in
      var due: [OperationTimer] = []
      while let first = state.order.first {
        guard let timer = state.timers[first.value] else {
          _ = state.order.popFirst()
          continue
        }
        if first.key > now { break }
        _ = state.order.popFirst()
        state.timers[first.value] = nil
        due.append(timer)
      }
      state.wakeTime = nil
      setAlarms(&state, now)
      return due
    }
    // Each timer is fired in a separate call on the pool, because its closure may block.
    for timer in due { DefaultExecutor.shared.enqueue { timer.fire() } }
  }
}

/// A clock of Dispatch.
package enum AlarmClock: Sendable {
  /// The clock that stands still while the machine sleeps.
  case uptime
  /// The clock that runs while the machine sleeps, and jumps when a user sets the time of day.
  case wall
}

/// A Dispatch timer that can be set repeatedly.
struct Alarm {
  private let clock: AlarmClock
  private let source: any DispatchSourceTimer

  /// Creates an alarm that isn't set.
  init(by clock: AlarmClock, on queue: DispatchQueue, _ ring: @escaping @Sendable () -> Void) {
    self.clock = clock
    source = DispatchSource.makeTimerSource(queue: queue)
    source.setEventHandler(handler: ring)
    source.activate()
  }

  /// Sets the alarm, and replaces the time that it was set to before.
  func set(after delay: Duration) {
    // The delay is set in two parts, because a 32-bit Int holds at most 2.1 s in nanoseconds.
    let (seconds, attoseconds) = delay.components
    let whole = DispatchTimeInterval.seconds(Int(clamping: seconds))
    let rest = DispatchTimeInterval.nanoseconds(Int(clamping: attoseconds / 1_000_000_000))
    switch clock {
    case .uptime: source.schedule(deadline: .now() + whole + rest)
    case .wall: source.schedule(wallDeadline: .now() + whole + rest)
    }
  }

  func cancel() { source.cancel() }
}
