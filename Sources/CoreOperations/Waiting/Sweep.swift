/// The time in which a thread cancels several operations, and their queues start nothing.
///
/// Code of the program that runs in that time may wait for one of the queues: the `deinit` of an
/// object that a cancelled operation was the last to hold. The queues go on while it waits.
final class Sweep {
  private static let current = ThreadLocal<Sweep>()

  private let schedulers: [Scheduler]
  private let outer = Sweep.current.value

  private init(_ schedulers: [Scheduler]) { self.schedulers = schedulers }

  /// Runs a body in which queues start nothing.
  ///
  /// - Parameters:
  ///   - schedulers: Those of the queues.
  ///   - begin: Has them start nothing from here on; another one does it in the same step as
  ///     something else.
  ///   - body: Cancels operations.
  static func during(
    _ schedulers: [Scheduler],
    begin: ([Scheduler]) -> Void = { $0.forEach { $0.sweep(isBeginning: true) } },
    _ body: () -> Void
  ) {
    let sweep = Sweep(schedulers)
    current.value = sweep
    begin(schedulers)
    body()
    for scheduler in schedulers { scheduler.sweep(isBeginning: false) }
    current.value = sweep.outer
  }

  /// This thread blocks: ends the sweeps that it is in, until ``goOn(_:)``.
  static func pause() -> [Scheduler] {
    var paused: [Scheduler] = []
    var next = current.value
    while let sweep = next {
      paused += sweep.schedulers
      next = sweep.outer
    }
    for scheduler in paused { scheduler.sweep(isBeginning: false) }
    return paused
  }

  static func goOn(_ paused: [Scheduler]) {
    for scheduler in paused { scheduler.sweep(isBeginning: true) }
  }
}
