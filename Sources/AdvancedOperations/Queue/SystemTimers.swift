import CoreOperations
import Dispatch

/// The timers of one of the system's clocks, with Dispatch timers for the first of them.
///
/// What is given to `DispatchQueue.asyncAfter` is kept until its time has come, and so is what a
/// task has that sleeps and is cancelled: some hundred bytes for an hour after each operation that
/// could have taken an hour. Here a timer that is cancelled is gone.
package final class SystemTimers: TimerTable {
  private struct State {
    var timers: [Int: OperationTimer] = [:]
    /// The numbers of timers by their times; also of some that are gone.
    var order = IndexedHeap<HeapEntry<Duration>>()
    var lastNumber = 0
    /// When the alarms are due; nil when they aren't.
    var wakeTime: Duration?
    var alarms: [Alarm] = []
  }

  /// The timers of `ContinuousClock`, whose time counts from when the process first asked for it.
  ///
  /// The uptime stands still while the machine sleeps, so an alarm by that alone would be late by
  /// the whole sleep. The wall clock doesn't stand still, but somebody may set it back. The earlier
  /// of the two alarms wakes us, and our own clock says which timers are due.
  package static let continuous = SystemTimers(
    reading: { MonotonicClock.continuousNanoseconds },
    wokenBy: [.uptime, .wall],
    isLasting: true
  )
  /// The timers of `SuspendingClock`, which stands still while the machine sleeps.
  package static let suspending = SystemTimers(of: SuspendingClock(), isLasting: true)

  /// The clocks of Dispatch and ours may differ, so alarms check the time after so long.
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
  ///   - nanoseconds: Gives the time since any moment that stays the same.
  ///   - alarmClocks: Those that wake it.
  ///   - isLasting: Whether the clock exists for as long as the process.
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

  /// How many timers there are whose time has not come.
  package var count: Int { state.withLock { $0.timers.count } }

  /// Takes in a timer.
  ///
  /// - Parameters:
  ///   - timer: Fired on a thread of the shared pool, unless it is cancelled before.
  ///   - deadline: Its time; one in the past is now.
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
        // With the room that they needed.
        state.timers = [:]
        state.order = IndexedHeap()
      } else if state.order.count > 2 * state.timers.count {
        state.order.removeAll { state.timers[$0.value] == nil }
      }
      return timer
    }
    withExtendedLifetime(timer) {}
  }

  /// Has the alarms wake us for the first timer, unless they will before.
  private func setAlarms(_ state: inout State, _ now: Duration) {
    guard let first = state.order.first?.key, first < state.wakeTime ?? .longest else { return }
    let delay = min(max(first.saturatingSubtracting(now), .zero), Self.longestSleep)
    state.wakeTime = now.saturatingAdding(delay)
    if state.alarms.isEmpty {
      // A serial queue has a thread when it needs one. The few of the global queues are also those
      // that tasks run on: code that blocks them would stop the time.
      let queue = DispatchQueue(label: "timers of operations")
      state.alarms = alarmClocks.map { clock in
        Alarm(by: clock, on: queue) { [weak self] in self?.wake() }
      }
    }
    for alarm in state.alarms { alarm.set(after: delay) }
  }

  /// Some may be due.
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
    // Each apart: what is called may block.
    for timer in due { DefaultExecutor.shared.enqueue { timer.fire() } }
  }
}

/// A clock of Dispatch.
package enum AlarmClock: Sendable {
  /// Stands still while the machine sleeps.
  case uptime
  /// Runs while the machine sleeps, and jumps when somebody sets the time of day.
  case wall
}

/// A Dispatch timer that is set again and again.
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

  /// Sets the alarm, in place of the time that it was set to.
  func set(after delay: Duration) {
    // In two parts, because an Int of 32 bits has no more than 2.1 s in nanoseconds.
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
