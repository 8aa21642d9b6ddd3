import AdvancedOperations
import CoreOperations

/// A timer of a simulation.
struct Alarm {
  let deadline: Duration
  let number: Int
  let timer: OperationTimer
  let name: String
  let subject: StepSubject
  let identity: Fingerprint
}

/// The timers of a simulation that aren't due, by their numbers and by their times.
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
  /// Also of those that were taken out since; there are never many more than are left.
  private var places = IndexedHeap<Place>()

  var isEmpty: Bool { alarms.isEmpty }
  var count: Int { alarms.count }
  /// In no order.
  var all: some Collection<Alarm> { alarms.values }

  mutating func insert(_ alarm: Alarm) {
    alarms[alarm.number] = alarm
    places.insert(Place(deadline: alarm.deadline, number: alarm.number))
  }

  mutating func remove(_ number: Int) -> Alarm? {
    guard let alarm = alarms.removeValue(forKey: number) else { return nil }
    if places.count > 2 * alarms.count + 64 {
      places = IndexedHeap()
      for alarm in alarms.values {
        places.insert(Place(deadline: alarm.deadline, number: alarm.number))
      }
    }
    return alarm
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
