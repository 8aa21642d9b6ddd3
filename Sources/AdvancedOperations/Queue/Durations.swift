/// Arithmetic on durations that users specify, which doesn't overflow: the longest duration is the limit.
///
/// The operators of `Duration` trap beyond 1.7e20 s, and its `components` beyond 9.2e18 s. The results of
/// these methods are within the second limit, so that each result can be read and printed.
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

  /// The product, or the limit that it exceeds; zero if the factor or the product isn't a number.
  package func saturatingMultiplied(by factor: Double) -> Duration {
    let product = Double(attoseconds) * factor
    if product.isNaN { return .zero }
    // Twice the limit is far below the 128-bit limit, even after rounding.
    let limit = Double(Duration.longest.attoseconds) * 2
    return Duration(attoseconds: Int128(min(max(product, -limit), limit))).clamped
  }
}

extension Duration {
  /// The nanoseconds, rounded towards zero; the largest number for a duration of more than some centuries.
  package var wholeNanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }
}

extension Duration {
  /// The duration as readable text: “12 ms”, “1.5 s”, “2 min 5 s”, “3 h 12 min”.
  ///
  /// The text has a tenth for numbers up to 10, and for seconds up to a minute. Larger numbers are whole.
  package var readable: String {
    if self < .zero { return "-" + Duration.zero.saturatingSubtracting(self).readable }
    let nanoseconds = self / .nanoseconds(1)
    for (unit, size) in [("ns", 1.0), ("µs", 1e3), ("ms", 1e6)] {
      if let text = Self.text(nanoseconds / size, below: 1_000, tenthsBelow: 10) {
        return "\(text) \(unit)"
      }
    }
    if let text = Self.text(nanoseconds / 1e9, below: 60, tenthsBelow: 60) { return "\(text) s" }
    let seconds = Int64(min((nanoseconds / 1e9).rounded(), 9.2e18))
    if seconds < 3_600 { return Self.text(seconds / 60, "min", seconds % 60, "s") }
    let minutes = (seconds + 30) / 60
    if minutes < 1_440 { return Self.text(minutes / 60, "h", minutes % 60, "min") }
    let hours = (minutes + 30) / 60
    return Self.text(hours / 24, "d", hours % 24, "h")
  }

  /// Formats a number, with a tenth if it is small; returns nil if it is rounded to the limit or more.
  private static func text(_ value: Double, below limit: Int, tenthsBelow: Double) -> String? {
    let tenths = Int(min((value * 10).rounded(), 1e9))  // 32 bits: at most 1e9
    if Double(tenths) < tenthsBelow * 10 {
      return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
    let whole = Int(min(value.rounded(), 1e9))  // 32 bits: at most 1e9
    return whole < limit ? "\(whole)" : nil
  }

  private static func text(
    _ large: Int64,
    _ unit: String,
    _ small: Int64,
    _ smallUnit: String
  )
    -> String
  { small == 0 ? "\(large) \(unit)" : "\(large) \(unit) \(small) \(smallUnit)" }
}
