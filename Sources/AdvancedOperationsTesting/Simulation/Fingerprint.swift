import AdvancedOperations
import CoreOperations

/// Two independent sums of 64 bits: equal for equal states, and hardly ever for others.
struct Fingerprint: Hashable, Comparable, Sendable {
  // The offset basis and prime of FNV-1a; the second sum begins elsewhere and multiplies by
  // another.
  private(set) var low: UInt64 = 0xcbf2_9ce4_8422_2325
  private var high: UInt64 = 0x6c62_272e_07bb_0142

  init() {}

  mutating func add(_ number: UInt64) {
    low = (low ^ number) &* 0x0000_0100_0000_01b3
    low ^= low >> 29
    high = (high ^ number) &* 0x9e37_79b9_7f4a_7c15
    high ^= high >> 32
  }

  mutating func add(_ text: String) {
    for byte in text.utf8 { add(UInt64(byte)) }
    add(.max)
  }

  mutating func add(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    add(UInt64(bitPattern: seconds))
    add(UInt64(bitPattern: attoseconds))
  }

  /// Any order, to add what has none.
  static func < (a: Fingerprint, b: Fingerprint) -> Bool { (a.low, a.high) < (b.low, b.high) }

  mutating func add(_ other: Fingerprint) {
    add(other.low)
    add(other.high)
  }
}

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
