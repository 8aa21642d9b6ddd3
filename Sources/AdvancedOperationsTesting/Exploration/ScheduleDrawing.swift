/// How a schedule is drawn where there are too many to go through.
package enum ScheduleDrawing: Sendable, Hashable {
  /// Any step, each time.
  case steps
  /// By random priorities of operations and queues, which change this often.
  ///
  /// A task that yields becomes the least urgent if another step has waited for `mostRounds` rounds.
  /// Zero finds bugs that need another operation at an `await`; more finds bugs that need an
  /// operation to be far behind.
  case priorities(changes: Int, mostRounds: Int)

  /// What the schedule with this number is drawn by unless something else is asked for.
  ///
  /// A mixture, because each way misses a bug that another finds: only priorities that a yield
  /// doesn't change show a set-up that is too late. The test of drawn schedules measures it, and the
  /// article on exploring has the table.
  static func usual(_ number: Int) -> ScheduleDrawing {
    if number % 2 == 0 { return .steps }
    return .priorities(changes: 1 + number / 4 % 3, mostRounds: number % 4 == 1 ? 32 : 0)
  }

  /// Makes the choices of a schedule that is drawn in the usual way.
  static func usualChooser(seed: UInt64, _ drawn: Schedule.Drawn) -> EvenMomentsChooser {
    let seed = seed &+ UInt64(drawn.number)
    let chooser = usual(drawn.number).chooser(seed: seed, length: drawn.length)
    return EvenMomentsChooser(chooser, seed: seed, length: drawn.evenLength)
  }

  /// Makes the choices of one schedule.
  ///
  /// - Parameters:
  ///   - seed: Equal seeds draw equal schedules.
  ///   - length: About how many choices there will be.
  /// - Returns: Who makes them.
  func chooser(seed: UInt64, length: Int) -> any ScheduleChooser {
    switch self {
    case .steps: SeededChooser(seed: seed)
    case .priorities(let changes, let mostRounds):
      PriorityChooser(
        seed: seed,
        length: length,
        changeCount: changes,
        mostRounds: mostRounds
      )
    }
  }
}
