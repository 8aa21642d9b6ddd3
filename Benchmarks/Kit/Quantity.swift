import Foundation

/// Numbers as people read them.
package enum Quantity {
  /// A time with three digits and a unit: `85.2 ns`, `1.31 µs`, `12.0 s`.
  package static func time(_ seconds: Double) -> String {
    let units: [(name: String, seconds: Double)] = [
      ("s", 1), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9),
    ]
    // 0.9995 would be rounded to 1000 of the next smaller unit.
    let unit = units.first { seconds >= $0.seconds * 0.9995 } ?? ("ns", 1e-9)
    return "\(digits(seconds / unit.seconds)) \(unit.name)"
  }

  /// A ratio with two or three significant digits: `0.0031`, `0.34`, `1.25`, `18`.
  package static func ratio(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    let magnitude = abs(value)
    let places = magnitude >= 10 ? 0 : magnitude >= 0.1 ? 2 : magnitude >= 0.01 ? 3 : 4
    return decimal(value, places: places)
  }

  /// A count with thin groups of thousands: `1,048,576`.
  package static func count(_ value: Int) -> String {
    let digits = String(value.magnitude)
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
      text.append(digit)
    }
    return value < 0 ? "-\(text)" : text
  }

  /// A number with so many digits after its point.
  package static func decimal(_ value: Double, places: Int) -> String {
    String(format: "%.\(places)f", value)
  }

  /// Three significant digits.
  private static func digits(_ value: Double) -> String {
    let magnitude = abs(value)
    return decimal(value, places: magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2)
  }
}
