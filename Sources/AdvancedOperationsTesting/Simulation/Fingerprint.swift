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
