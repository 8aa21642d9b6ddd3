import AdvancedOperations
import CoreOperations

/// The clock of a simulation.
final class SimulatedClock: OperationClock.Source {
  let simulation: Simulation

  init(simulation: Simulation) { self.simulation = simulation }

  var identity: ClockIdentity { simulation.clockIdentity }
  var now: Duration { simulation.now }

  func sleep(until deadline: Duration) async throws {
    let subject = StepContext.subject(in: simulation)
    simulation.withState { $0.names.sleeps(subject) }
    let wait = AsyncWait()
    let timer = OperationTimer { wait.finish() }
    try await wait.run { _ in
      // A sleep whose deadline has passed isn't a step: with the system's clocks, nothing runs in
      // between either.
      guard deadline > now || simulation.sleepsTooOften() else { return false }
      simulation.schedule(at: deadline, timer, isSleep: true)
      return true
    } unregister: { _ in
      // Otherwise time would move to a moment at which nothing happens.
      timer.cancel()
    }
  }

  func schedule(
    at deadline: Duration,
    _ action: @escaping @Sendable () -> Void
  ) -> OperationTimer {
    let timer = OperationTimer(action)
    simulation.schedule(at: deadline, timer)
    return timer
  }
}

/// A timer of a simulation.
struct Alarm {
  let deadline: Duration
  let number: Int
  let timer: OperationTimer
  let name: String
  let subject: StepSubject
  let identity: Fingerprint
  /// Whether a task sleeps until the deadline.
  let isSleep: Bool
}

/// The timers of a simulation that aren't due, by their numbers and by their times.
///
/// Timers at the end of time are separate, because they are never due.
///
/// - Complexity: Adding and removing a timer takes O(log n), amortized.
struct Alarms {
  private struct Place: HeapElement {
    let deadline: Duration
    let number: Int

    func isBefore(_ other: Place) -> Bool {
      (deadline, number) < (other.deadline, other.number)
    }
  }

  private var alarms: [Int: Alarm] = [:]
  /// The timers at the end of time.
  private var endless: [Int: Alarm] = [:]
  /// The deadlines of the timers, and of removed timers; there are never many more removed timers
  /// than others.
  private var places = IndexedHeap<Place>()

  /// Whether time can't move to a timer.
  var isEmpty: Bool { alarms.isEmpty }
  /// The number of timers, including timers at the end of time.
  var count: Int { alarms.count + endless.count }
  /// The timers, including timers at the end of time, in no order.
  var all: [Alarm] { Array(alarms.values) + Array(endless.values) }
  /// The timers that will be due, in no order.
  var upcoming: some Collection<Alarm> { alarms.values }

  mutating func insert(_ alarm: Alarm) {
    if alarm.deadline >= .longest {
      endless[alarm.number] = alarm
      return
    }
    alarms[alarm.number] = alarm
    places.insert(Place(deadline: alarm.deadline, number: alarm.number))
  }

  mutating func remove(_ number: Int) -> Alarm? {
    if let alarm = endless.removeValue(forKey: number) { return alarm }
    guard let alarm = alarms.removeValue(forKey: number) else { return nil }
    if places.count > 2 * alarms.count + 64 {
      places = IndexedHeap()
      for alarm in alarms.values {
        places.insert(Place(deadline: alarm.deadline, number: alarm.number))
      }
    }
    return alarm
  }

  /// Returns whether a task of an operation sleeps until the end of time.
  func hasEndlessSleep(of subject: StepSubject) -> Bool {
    endless.values.contains { $0.isSleep && $0.subject == subject }
  }

  /// Returns the deadline of the next timer; nil without a timer.
  mutating func nextDeadline() -> Duration? {
    while let first = places.first, alarms[first.number] == nil { _ = places.popFirst() }
    return places.first?.deadline
  }

  /// Removes and returns the timers that are due, in the order in which they were added.
  mutating func takeDue(at now: Duration) -> [Alarm] {
    var due: [Alarm] = []
    while let deadline = nextDeadline(), deadline <= now, let first = places.popFirst() {
      if let alarm = alarms.removeValue(forKey: first.number) { due.append(alarm) }
    }
    return due.sorted { $0.number < $1.number }
  }
}
