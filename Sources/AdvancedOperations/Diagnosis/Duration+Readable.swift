extension Duration {
  /// The duration as people say it: “12 ms”, “1.5 s”, “2 min 5 s”, “3 h 12 min”.
  ///
  /// Rounded to what matters: a tenth up to 10, and up to a minute; whole units above.
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

  /// A number with a tenth where that matters; nil when it is rounded to the limit or more.
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
