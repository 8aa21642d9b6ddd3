/// Durations as people write them: `150ms`, `2s`, `1.5s`, `1m30s`.
///
/// ```swift
/// DurationText.duration(of: "1m30s")   // 90 seconds
/// DurationText.text(.milliseconds(1_500))   // 1.5s
/// ```
package enum DurationText {
  private static let units: [(name: String, duration: Duration)] = [
    ("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60)), ("h", .seconds(3_600)),
  ]

  /// The duration that a text says; nil for a text that says none.
  ///
  /// - Parameter text: Numbers with units, without spaces; a unit is never left out, nor repeated.
  /// - Returns: The duration, in whole milliseconds.
  package static func duration(of text: some StringProtocol) -> Duration? {
    var (sum, rest) = (Duration.zero, text[...])
    var units = Self.units[...]
    if rest.isEmpty { return nil }
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && $0.isNumber || $0 == "." }
      guard let number = Double(digits), number < 1e9 else { return nil }
      rest = rest.dropFirst(digits.count)
      // “ms” is in front of “m”. Each unit is there once, the long ones first.
      guard let index = units.firstIndex(where: { rest.hasPrefix($0.name) }) else { return nil }
      let unit = units[index]
      units = units[..<index]
      rest = rest.dropFirst(unit.name.count)
      // Whole milliseconds, so that 0.1s is the same as 100ms.
      sum += .milliseconds((number * (unit.duration / .milliseconds(1))).rounded())
    }
    return sum
  }

  /// A duration in one unit, short enough for a table: `740ms`, `2.5s`, `3m`, `1.5h`.
  ///
  /// - Parameter duration: A negative one counts as zero.
  /// - Returns: The text.
  package static func text(_ duration: Duration) -> String {
    let seconds = max(duration / .seconds(1), 0)
    return switch seconds {
    case ..<1: "\(Int((seconds * 1_000).rounded()))ms"
    case ..<60: "\(number(seconds))s"
    case ..<3_600: "\(number(seconds / 60))m"
    default: "\(number(seconds / 3_600))h"
    }
  }

  /// With one digit behind the point, unless that is a zero.
  private static func number(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }
}
