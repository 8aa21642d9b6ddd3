import AdvancedOperations
import CoreOperations

/// Two independent 64-bit sums of a state; different states almost never have equal sums.
struct Fingerprint: Hashable, Comparable, Sendable {
  // The first sum uses the offset basis and the prime of FNV-1a, the second sum uses other numbers.
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

  /// Compares in an arbitrary order, so that the elements of an unordered collection can be added
  /// in a fixed order.
  static func < (a: Fingerprint, b: Fingerprint) -> Bool { (a.low, a.high) < (b.low, b.high) }

  mutating func add(_ other: Fingerprint) {
    add(other.low)
    add(other.high)
  }
}

extension Simulation {
  /// Returns a fingerprint of the state on which the future of the simulation depends.
  ///
  /// The effects of user code are assumed to follow from the order in which the code ran. The rest
  /// of the state is in queues, steps and timers.
  func fingerprint() -> Fingerprint {
    let (queues, numbers) = withState { ($0.names.queues, $0.names.numbers) }
    var prints: [UInt64] = []
    for queue in queues {
      prints += queue.fingerprint { numbers[ObjectIdentifier($0)] ?? 0 }
      prints.append(.max)
    }
    return withState { state in
      var print = state.history
      // Add the counts, because the last number of one list could otherwise be taken for the first
      // number of the next list.
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
