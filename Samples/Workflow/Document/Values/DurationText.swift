import TerminalSupport

/// Durations as a file has them: `90s`, `10m`, `1h30m`, `500ms`, `1.5s`.
package enum DurationText {
  /// The units, the largest first, in nanoseconds.
  private static let units: [(name: String, nanoseconds: Int)] = [
    ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000),
    ("s", 1_000_000_000), ("ms", 1_000_000),
  ]
  /// What people write instead of a unit.
  private static let otherNames = [
    "sec": "s", "secs": "s", "second": "s", "seconds": "s", "min": "m", "mins": "m",
    "minute": "m", "minutes": "m", "hour": "h", "hours": "h", "hr": "h", "day": "d", "days": "d",
    "msec": "ms", "milliseconds": "ms",
  ]
  /// The longest one.
  private static let limit = 1000 * 86_400_000_000_000

  /// Reads one.
  package static func duration(_ text: String) throws(ValueProblem) -> Duration {
    let quoted = "‘\(text.excerpt())’"
    guard !text.isEmpty else { throw ValueProblem("a time is expected", help: "like ‘90s’") }
    if text.hasPrefix("-") { throw ValueProblem("the time \(quoted) is negative") }
    if text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) {
      throw ValueProblem(
        "the time \(quoted) has no unit",
        help: "seconds are ‘\(text.excerpt(10))s’"
      )
    }
    var rest = text[...]
    var sum = 0
    var lastUnit = Int.max
    while !rest.isEmpty {
      let number = DecimalNumber(takenFrom: &rest)
      let name = String(rest.prefix { $0.isLetter })
      rest = rest.dropFirst(name.count)
      guard let number else {
        throw ValueProblem("\(quoted) isn’t a time", help: "times are like ‘90s’, ‘10m’ or ‘1h30m’")
      }
      guard let unit = units.first(where: { $0.name == name })?.nanoseconds else {
        let other = otherNames[name.lowercased()] ?? NearestName.nearest(to: name, among: ["ms"])
        throw ValueProblem(
          name.isEmpty
            ? "\(quoted) isn’t a time" : "a time has no unit ‘\(name.excerpt(20))’",
          help: other.map { "did you mean ‘\($0)’?" } ?? "units are ms, s, m, h and d"
        )
      }
      guard unit < lastUnit else {
        throw ValueProblem("\(quoted) isn’t a time", help: "units go from large to small: ‘1h30m’")
      }
      lastUnit = unit
      guard let nanoseconds = number.times(unit), nanoseconds <= limit - sum else {
        throw ValueProblem("the time \(quoted) is too long", help: "at most 1000d")
      }
      sum += nanoseconds
    }
    return .nanoseconds(sum)
  }

  /// The text of a duration, of at most 1000 days and in whole nanoseconds.
  static func text(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    var left = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
    guard left > 0 else { return "0s" }
    var text = ""
    for (name, nanoseconds) in units {
      let count = left / nanoseconds
      left -= count * nanoseconds
      guard name == "ms", left > 0 else {
        if count > 0 { text += "\(count)\(name)" }
        continue
      }
      var fraction = String(1_000_000 + left).dropFirst()
      while fraction.last == "0" { fraction.removeLast() }
      text += "\(count).\(fraction)ms"
    }
    return text
  }
}

/// A number with digits after its point, without rounding.
struct DecimalNumber {
  private var digits: Int
  private var scale: Int
  /// Whether it has too many digits for anything.
  private var isTooLong: Bool

  /// Takes the number that a text begins with; nil if there is none.
  init?(takenFrom text: inout Substring) {
    let whole = text.prefix { $0.isASCII && $0.isNumber }
    guard !whole.isEmpty else { return nil }
    text = text.dropFirst(whole.count)
    var fraction: Substring = ""
    if text.first == "." {
      fraction = text.dropFirst().prefix { $0.isASCII && $0.isNumber }
      guard !fraction.isEmpty else { return nil }
      text = text.dropFirst(1 + fraction.count)
    }
    isTooLong = fraction.count > 9
    scale = 1
    for _ in 0..<min(9, fraction.count) { scale *= 10 }
    if let digits = Int(whole + fraction.prefix(9)) {
      self.digits = digits
    } else {
      digits = 0
      isTooLong = true
    }
  }

  /// The product, without what is less than one; nil if it is too large.
  func times(_ unit: Int) -> Int? {
    guard !isTooLong else { return nil }
    let (whole, rest) = digits.quotientAndRemainder(dividingBy: scale)
    let (product, isOverflow) = whole.multipliedReportingOverflow(by: unit)
    // The rest is less than the scale, so this fits into 128 bits, and the quotient into 64.
    let wide = rest.multipliedFullWidth(by: unit)
    let part = scale.dividingFullWidth(wide).quotient
    let (sum, isTooLarge) = product.addingReportingOverflow(part)
    return isOverflow || isTooLarge ? nil : sum
  }
}
