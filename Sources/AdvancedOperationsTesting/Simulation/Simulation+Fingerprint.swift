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
      for number in prints { print.add(number) }
      for name in state.steps.map(\.name).sorted() { print.add(name) }
      let alarms = state.alarms.values.map { "\($0.deadline) \($0.name)" }
      for alarm in alarms.sorted() { print.add(alarm) }
      print.add("\(state.now)")
      return print
    }
  }
}
