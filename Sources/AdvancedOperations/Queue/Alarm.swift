import Dispatch

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
