import ArgumentParser

/// A duration on the command line: `500ms`, `90s`, `10m`, `1h30m`.
struct TimeArgument: Equatable {
  /// As in files: what is longer is a mistake, and no clock can wait for the longest numbers.
  private static let longest = Duration.seconds(1_000 * 86_400)

  var duration: Duration

  init(_ duration: Duration) { self.duration = duration }

  /// Reads an argument.
  ///
  /// - Throws: What is wrong with it, and how to write it.
  init(text: String) throws {
    if let value = Self(argument: text) {
      guard value.duration <= Self.longest else {
        throw ValidationError("at most 24000h")
      }
      self = value
    } else if Double(text) != nil {
      throw ValidationError("a number needs its unit: \(text)s, \(text)m, \(text)h or \(text)ms")
    } else {
      throw ValidationError("write 90s, 10m, 1h30m or 500ms")
    }
  }

  init?(argument: String) {
    let units: [(String, Duration)] = [
      ("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60)), ("h", .seconds(3_600)),
    ]
    var (sum, rest) = (Duration.zero, argument[...])
    if rest.isEmpty { return nil }
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && $0.isNumber || $0 == "." }
      guard let number = Double(digits), number < 1e9 else { return nil }
      rest = rest.dropFirst(digits.count)
      guard let (name, unit) = units.first(where: { rest.hasPrefix($0.0) }) else { return nil }
      rest = rest.dropFirst(name.count)
      sum += unit * number
    }
    duration = sum
  }
}
