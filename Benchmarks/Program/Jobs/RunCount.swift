import Synchronization

/// Counts bodies that ran, at the price of one atomic addition that is rarely contended.
///
/// One counter would be fought over by the processors and cost more than what is measured; a
/// counter in a closure's context would make every closure allocate. So there are counters for
/// groups of threads, told apart by where their stacks lie.
enum RunCount {
  private static let shardCount = 64
  /// Atomics are two lines apart, because processors fetch lines in pairs.
  private static let stride = 16
  nonisolated(unsafe) private static let shards: UnsafeMutablePointer<Atomic<Int>> = {
    let pointer = UnsafeMutablePointer<Atomic<Int>>.allocate(capacity: shardCount * stride)
    for index in 0..<(shardCount * stride) { (pointer + index).initialize(to: Atomic(0)) }
    return pointer
  }()

  @inline(__always) static func add() { add(1) }

  @inline(__always) static func add(_ amount: Int) {
    var local: UInt8 = 0
    // Stacks are at least 64 KiB apart; what collides is only slower.
    let place = withUnsafeMutablePointer(to: &local) { UInt(bitPattern: $0) >> 16 }
    let shard = Int((place &* 0x9E37_79B9_7F4A_7C15) >> 58)
    shards[shard * stride].add(amount, ordering: .relaxed)
  }

  /// What was counted since the last reset; exact when all bodies are known to have ended.
  static var total: Int {
    (0..<shardCount).reduce(0) { $0 + shards[$1 * stride].load(ordering: .acquiring) }
  }

  static func reset() {
    for shard in 0..<shardCount { shards[shard * stride].store(0, ordering: .releasing) }
  }
}
