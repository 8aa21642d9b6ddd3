/// Random numbers that are the same for the same seed.
///
/// The generator is *SplitMix64* (G. Steele, D. Lea, C. Flood, “Fast splittable pseudorandom number
/// generators”, OOPSLA 2014).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Creates a generator.
  ///
  /// - Parameter seed: Any number; equal ones give equal numbers.
  package init(seed: UInt64) { state = seed }

  /// The next number.
  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }

  /// Whether something of a probability happens this time.
  ///
  /// - Parameter probability: From 0 for never to 1 for always.
  /// - Returns: Whether it does.
  package mutating func happens(_ probability: Double) -> Bool {
    // A number is taken for each question, so that the answers to others don't depend on it.
    Double.random(in: 0..<1, using: &self) < probability
  }
}
