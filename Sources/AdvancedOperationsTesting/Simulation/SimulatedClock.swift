import AdvancedOperations
import CoreOperations

/// The time of a simulation.
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
      // As the clocks of the system do, and without a step: nothing comes in between on threads.
      guard deadline > now || simulation.sleepsTooOften() else { return false }
      simulation.schedule(at: deadline, timer, isSleep: true)
      return true
    } unregister: { _ in
      // Or time would move to a moment at which nothing happens.
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
  /// Whether a task sleeps until then.
  let isSleep: Bool
}

/// The timers of a simulation that aren't due, by their numbers and by their times.
///
/// Timers at the end of time are kept apart, because they never are due.
///
/// - Complexity: Adding and taking out O(log n), amortised.
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
  /// Also of those that were taken out since; there are never many more than are left.
  private var places = IndexedHeap<Place>()

  /// Whether time has nothing to move to.
  var isEmpty: Bool { alarms.isEmpty }
  /// With those at the end of time.
  var count: Int { alarms.count + endless.count }
  /// With those at the end of time; in no order.
  var all: [Alarm] { Array(alarms.values) + Array(endless.values) }
  /// Those that become due; in no order.
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

  /// Whether a task of an operation sleeps until the end of time.
  func hasEndlessSleep(of subject: StepSubject) -> Bool {
    endless.values.contains { $0.isSleep && $0.subject == subject }
  }

  /// When the next one is due; nil without any.
  mutating func nextDeadline() -> Duration? {
    while let first = places.first, alarms[first.number] == nil { _ = places.popFirst() }
    return places.first?.deadline
  }

  /// Takes out those that are due, in the order in which they were added.
  mutating func takeDue(at now: Duration) -> [Alarm] {
    var due: [Alarm] = []
    while let deadline = nextDeadline(), deadline <= now, let first = places.popFirst() {
      if let alarm = alarms.removeValue(forKey: first.number) { due.append(alarm) }
    }
    return due.sorted { $0.number < $1.number }
  }
}
