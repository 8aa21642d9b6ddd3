extension Duration {
  /// The duration for people: `0.25 s`, `12.3 s`, `2 min 05 s`, `3 h 20 min`.
  var readable: String {
    let seconds = max(self / .seconds(1), 0)
    if seconds < 0.9995 { return "\(Self.fixed(seconds, digits: 2)) s" }
    if seconds < 59.95 { return "\(Self.fixed(seconds, digits: 1)) s" }
    // Beyond the reach of the type is for ever.
    let whole = Int(min(seconds.rounded(), 1e15))
    if whole < 3_600 {
      return "\(whole / 60) min" + (whole % 60 == 0 ? "" : " \(Self.twoDigits(whole % 60)) s")
    }
    let minutes = whole / 60 % 60
    return "\(whole / 3_600) h" + (minutes == 0 ? "" : " \(Self.twoDigits(minutes)) min")
  }

  /// The duration in whole seconds, for what changes while people look at it.
  var ticking: String {
    let whole = Int(min(max(self / .seconds(1), 0), 1e15))
    if whole < 60 { return "\(whole) s" }
    if whole < 3_600 { return "\(whole / 60) min \(Self.twoDigits(whole % 60)) s" }
    return "\(whole / 3_600) h \(Self.twoDigits(whole / 60 % 60)) min"
  }

  private static func twoDigits(_ number: Int) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }

  private static func fixed(_ number: Double, digits: Int) -> String {
    let scale = digits == 1 ? 10 : 100
    let all = Int((number * Double(scale)).rounded())
    let fraction = "\(all % scale)"
    return "\(all / scale)." + String(repeating: "0", count: digits - fraction.count) + fraction
  }
}
