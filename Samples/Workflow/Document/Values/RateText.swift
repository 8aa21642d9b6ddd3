import TerminalSupport

/// Rates as a file has them: `10/min`, `1/30s`.
enum RateText {
  private static let names: [String: Duration] = [
    "s": .seconds(1), "sec": .seconds(1), "second": .seconds(1),
    "m": .seconds(60), "min": .seconds(60), "minute": .seconds(60),
    "h": .seconds(3600), "hour": .seconds(3600),
    "d": .seconds(86_400), "day": .seconds(86_400),
  ]

  /// Reads a number of starts and the time for them.
  static func rate(_ text: String) throws(ValueProblem) -> (count: Int, duration: Duration) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else {
      throw ValueProblem(
        "‘\(text.excerpt())’ isn’t a rate",
        help: "rates are like ‘10/min’ or ‘1/30s’"
      )
    }
    let count = try AmountText.count(
      parts[0].trimmed,
      of: "the count of a rate"
    )
    let time = parts[1].trimmed
    if let duration = names[time] { return (count, duration) }
    if !time.utf8.contains(where: { 0x30...0x39 ~= $0 }) {
      throw ValueProblem(
        "‘\(time.excerpt())’ isn’t a time of a rate",
        help: NearestName.help(for: time, among: ["sec", "min", "hour", "day"])
          ?? "rates are like ‘10/min’ or ‘1/30s’"
      )
    }
    let duration = try DurationText.duration(time)
    guard duration > .zero else {
      throw ValueProblem("the time of the rate ‘\(text.excerpt())’ is zero")
    }
    return (count, duration)
  }
}

extension Substring {
  /// Without spaces at its ends.
  var trimmed: String {
    let start = drop { $0 == " " || $0 == "\t" }
    var text = String(start)
    while text.last == " " || text.last == "\t" { text.removeLast() }
    return text
  }
}
