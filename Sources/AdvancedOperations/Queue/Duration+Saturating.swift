/// Arithmetic on durations that users give: nothing overflows, the longest duration is the limit.
///
/// The operators of `Duration` trap beyond 1.7e20 s, and its `components` beyond 9.2e18 s. What
/// these methods return is within the second limit, so that each result can be read and printed.
extension Duration {
  /// The longest duration of the framework, 2.9e11 years, and the last time of its clocks.
  package static let longest = Duration.seconds(Int64.max)

  /// The most negative duration of the framework.
  package static let shortest = Duration.seconds(-Int64.max)

  /// The duration itself, or the limit that it exceeds.
  package var clamped: Duration { min(max(self, .shortest), .longest) }

  /// The sum, or the limit that it exceeds.
  package func saturatingAdding(_ other: Duration) -> Duration {
    let (sum, isOver) = attoseconds.addingReportingOverflow(other.attoseconds)
    if isOver { return other < .zero ? .shortest : .longest }
    return Duration(attoseconds: sum).clamped
  }

  /// The difference, or the limit that it exceeds.
  package func saturatingSubtracting(_ other: Duration) -> Duration {
    let (difference, isOver) = attoseconds.subtractingReportingOverflow(other.attoseconds)
    if isOver { return other < .zero ? .longest : .shortest }
    return Duration(attoseconds: difference).clamped
  }

  /// The product, or the limit that it exceeds.
  package func saturatingMultiplied(by factor: Int) -> Duration {
    let (product, isOver) = attoseconds.multipliedReportingOverflow(by: Int128(factor))
    if isOver { return (self < .zero) == (factor < 0) ? .longest : .shortest }
    return Duration(attoseconds: product).clamped
  }

  /// The product, or the limit that it exceeds; zero when the factor, or the product, is not a
  /// number.
  package func saturatingMultiplied(by factor: Double) -> Duration {
    let product = Double(attoseconds) * factor
    if product.isNaN { return .zero }
    // Twice the limit is far from that of 128 bits, whatever the rounding.
    let limit = Double(Duration.longest.attoseconds) * 2
    return Duration(attoseconds: Int128(min(max(product, -limit), limit))).clamped
  }
}
