import ArgumentParser

/// A duration on the command line: `500ms`, `90s`, `10m`, `1h30m`.
struct TimeArgument: ExpressibleByArgument, Equatable {
  var duration: Duration

  init(_ duration: Duration) { self.duration = duration }

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

  var defaultValueDescription: String { "\(Int(duration / .seconds(1)))s" }
}
