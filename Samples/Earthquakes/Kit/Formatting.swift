package import Foundation

extension Date {
  /// The time that a feed writes as milliseconds since 1970.
  init(milliseconds: Int64) {
    self.init(timeIntervalSince1970: Double(milliseconds) / 1_000)
  }

  /// The time as a feed writes it; times beyond the reach of the type are taken to its ends.
  var milliseconds: Int64 {
    let exact = (timeIntervalSince1970 * 1_000).rounded()
    return Int64(exactly: exact) ?? (exact < 0 ? .min : .max)
  }

  /// The time in UTC to the second, such as `2022-07-05T16:43:28Z`.
  package var isoSeconds: String {
    let seconds = (Double(milliseconds) / 1_000).rounded(.down)
    return Date(timeIntervalSince1970: seconds).formatted(.iso8601)
  }

  /// The time in UTC to the millisecond, such as `2022-07-05T16:43:28.082Z`.
  var isoMilliseconds: String {
    let fraction = milliseconds - Int64((Double(milliseconds) / 1_000).rounded(.down)) * 1_000
    return "\(isoSeconds.dropLast()).\(String(fraction + 1_000).dropFirst())Z"
  }
}

extension Double {
  /// The number with one digit after the point.
  var tenths: String { String(format: "%.1f", self) }

  /// The number rounded to hundredths and without needless digits, for drawings.
  var short: String {
    let rounded = (self * 100).rounded() / 100
    guard let whole = Int(exactly: rounded) else { return "\(rounded)" }
    return "\(whole)"
  }
}
