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

  /// Reads what `isoMilliseconds` writes.
  init?(isoMilliseconds text: String) {
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    guard let date = try? style.parse(text) else { return nil }
    self.init(milliseconds: date.milliseconds)
  }
}

extension Int {
  /// The number with commas between thousands, whatever the locale: `1,880`.
  package var grouped: String {
    let digits = String(magnitude)
    let text = digits.enumerated().reduce(into: "") { text, digit in
      if digit.offset > 0, (digits.count - digit.offset).isMultiple(of: 3) { text += "," }
      text.append(digit.element)
    }
    return self < 0 ? "-\(text)" : text
  }

  /// The number with a noun in the right number: `1 event`, `1,880 events`.
  package func counted(_ noun: String) -> String {
    "\(grouped) \(noun)\(self == 1 ? "" : "s")"
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

extension String {
  /// The text, cut to a number of characters, the last of which then is an ellipsis.
  package func cut(to length: Int) -> String {
    if isShort(length) { return self }
    return "\(Self.bounded(prefix(Swift.max(length - 1, 0)), length))…"
  }

  /// The text, cut to a number of characters by leaving out its middle, as names of files need.
  func cutInside(to length: Int) -> String {
    if isShort(length) { return self }
    let first = length / 3
    let last = length - first - 1
    return "\(Self.bounded(prefix(first), first))…\(Self.bounded(suffix(last), last))"
  }

  private func isShort(_ length: Int) -> Bool {
    count <= length && unicodeScalars.count <= length * Self.scalarsPerCharacter
  }

  private static func bounded(_ part: Substring, _ length: Int) -> String {
    String(part.unicodeScalars.prefix(length * scalarsPerCharacter))
  }

  /// The text with spaces after it up to a number of characters.
  package func padded(to length: Int) -> String {
    self + String(repeating: " ", count: Swift.max(length - count, 0))
  }

  /// The text with spaces before it up to a number of characters.
  package func aligned(to length: Int) -> String {
    String(repeating: " ", count: Swift.max(length - count, 0)) + self
  }
}
