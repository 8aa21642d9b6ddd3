import AdvancedOperations
import AdvancedTestSupport
import Testing

@Suite struct `Arithmetic on durations from users` {
  /// Further than the operators of `Duration` reach, with any other one.
  static let extremes: [Duration] = [
    .seconds(Int64.max), .seconds(Int64.min + 1), .seconds(1e20), .seconds(-1e20),
    .seconds(1.6e20), .seconds(-1.6e20), Duration(attoseconds: .max), Duration(attoseconds: .min),
    .zero, .nanoseconds(1), .longest, .shortest,
  ]

  private static func isWithinLimits(_ duration: Duration) -> Bool {
    duration >= .shortest && duration <= .longest && duration.components.seconds <= Int64.max
  }

  @Test(arguments: extremes, extremes)
  func `duration arithmetic saturates at the limits and is exact between them`(
    one: Duration,
    other: Duration
  ) {
    let sum = one.saturatingAdding(other)
    #expect(Self.isWithinLimits(sum))
    #expect(sum == other.saturatingAdding(one))
    let difference = one.saturatingSubtracting(other)
    #expect(Self.isWithinLimits(difference))
    #expect(difference == .zero - other.saturatingSubtracting(one))
    if one == other { #expect(difference == .zero) }
    if one > .zero && other < .zero { #expect(difference > .zero) }
  }

  @Test(arguments: extremes, [0, 1, -1, 2, Int.max, Int.min])
  func `multiplying a duration by a count saturates`(duration: Duration, factor: Int) {
    let product = duration.saturatingMultiplied(by: factor)
    #expect(Self.isWithinLimits(product))
    #expect(product.attoseconds.signum() == duration.attoseconds.signum() * Int128(factor.signum()))
  }

  @Test(arguments: extremes, [0, 1, -1, 0.5, 1e300, -1e300, .infinity, -.infinity, .nan])
  func `multiplying a duration by any number saturates`(duration: Duration, factor: Double) {
    #expect(Self.isWithinLimits(duration.saturatingMultiplied(by: factor)))
  }

  @Test func `saturating arithmetic equals the operators if they don't trap`() {
    let (one, other) = (Duration.milliseconds(1_234), Duration.seconds(-5))
    #expect(one.saturatingAdding(other) == one + other)
    #expect(one.saturatingSubtracting(other) == one - other)
    #expect(one.saturatingMultiplied(by: -3) == one * -3)
    #expect(one.saturatingMultiplied(by: 0.25) == one * 0.25)
    #expect(one.clamped == one)
    #expect(Duration.seconds(1).saturatingMultiplied(by: .nan) == .zero)
    #expect(Duration.zero.saturatingMultiplied(by: .infinity) == .zero)
    #expect(Duration.seconds(1).saturatingMultiplied(by: .infinity) == .longest)
  }
}
