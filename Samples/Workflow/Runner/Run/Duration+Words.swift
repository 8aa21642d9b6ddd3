extension Duration {
  /// The duration as people say it: “12 ms”, “1.5 s”, “2 min 5 s”, “3 h 12 min”.
  package var words: String {
    if self < .seconds(1) { return "\(Int(self / .milliseconds(1))) ms" }
    let tenths = Int((self / .milliseconds(100)).rounded())
    if tenths < 600 {
      return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }
    let seconds = Int((self / .seconds(1)).rounded())
    if seconds < 3_600 { return Self.words(seconds / 60, "min", seconds % 60, "s") }
    let minutes = (seconds + 30) / 60
    return Self.words(minutes / 60, "h", minutes % 60, "min")
  }

  private static func words(
    _ large: Int,
    _ unit: String,
    _ small: Int,
    _ smallUnit: String
  ) -> String { small == 0 ? "\(large) \(unit)" : "\(large) \(unit) \(small) \(smallUnit)" }
}
