/// A small generator of random numbers that gives the same sequence for the same seed everywhere.
///
/// ```swift
/// var generator = SplitMix64(seed: 7)
/// let shuffled = operations.shuffled(using: &generator)
/// ```
///
/// Steele, Lea, Flood, “Fast splittable pseudorandom number generators”, OOPSLA 2014.
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Creates a generator.
  ///
  /// - Parameter seed: Equal seeds give equal sequences.
  package init(seed: UInt64) { state = seed }

  /// The next 64 bits.
  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }

  /// A number from 0 up to but not including a bound.
  mutating func next(below bound: UInt64) -> UInt64 {
    // The high half of the product is evenly spread but for a bias of bound/2^64.
    next().multipliedFullWidth(by: bound).high
  }
}
