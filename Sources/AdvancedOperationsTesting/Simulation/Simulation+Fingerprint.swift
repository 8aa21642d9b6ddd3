import AdvancedOperations
import CoreOperations

extension Simulation {
  /// What tells the state of this world from others, as far as its future depends on it.
  ///
  /// What code of users has seen and done is taken to follow from the order in which it ran. All
  /// else that may differ is in queues, steps and timers.
  func fingerprint() -> Fingerprint {
    let (queues, numbers) = withState { ($0.names.queues, $0.names.numbers) }
    var prints: [UInt64] = []
    for queue in queues {
      prints += queue.fingerprint { numbers[ObjectIdentifier($0)] ?? 0 }
      prints.append(.max)
    }
    return withState { state in
      var print = state.history
      // With their counts, or the last that ran and the first that is pending could be taken for
      // each other.
      print.add(UInt64(prints.count))
      for number in prints { print.add(number) }
      print.add(UInt64(state.steps.count))
      for identity in state.steps.map(\.identity).sorted() { print.add(identity) }
      let alarms = state.alarms.all.map { alarm in
        var print = alarm.identity
        print.add(alarm.deadline)
        return print
      }
      for alarm in alarms.sorted() { print.add(alarm) }
      print.add(state.now)
      return print
    }
  }
}
