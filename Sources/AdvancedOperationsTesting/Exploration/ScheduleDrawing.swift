/// How a schedule is drawn where there are too many to go through.
package enum ScheduleDrawing: Sendable, Hashable {
  /// Any step, each time.
  case steps
  /// By random priorities of operations and queues, which change this often.
  case priorities(changes: Int)

  /// What the schedule with this number is drawn by unless something else is asked for.
  ///
  /// Half and half, because neither is better: of 1,000 schedules 0 that take any step show a
  /// set-up that comes too late, and 246 by priorities with one change; of two philosophers 341 and
  /// 94. The test of drawn schedules measures it; the article on exploring has the table.
  static func usual(_ number: Int) -> ScheduleDrawing {
    number % 2 == 0 ? .steps : .priorities(changes: 1 + number / 2 % 3)
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
    case .priorities(let changes):
      PriorityChooser(seed: seed, length: length, changeCount: changes)
    }
  }
}
