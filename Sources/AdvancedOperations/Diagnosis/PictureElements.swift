/// The elements of an SVG picture, as text.
struct PictureElements {
  private(set) var lines: [String] = []

  init() {}

  /// Adds an element as it is.
  mutating func add(_ element: String) { lines.append(element) }

  mutating func label(_ text: String, _ x: Double, _ y: Double, _ attributes: String) {
    lines.append(
      "<text x=\"\(Self.number(x))\" y=\"\(Self.number(y))\"\(attributes)>"
        + "\(Self.escaped(text))</text>"
    )
  }

  mutating func rectangle(
    _ x: Double,
    _ y: Double,
    _ width: Double,
    _ height: Double,
    _ color: String,
    _ attributes: String
  ) {
    lines.append(
      "<rect x=\"\(Self.number(x))\" y=\"\(Self.number(y))\" width=\"\(Self.number(width))\""
        + " height=\"\(Self.number(height))\" fill=\"\(color)\"\(attributes)/>"
    )
  }

  mutating func line(
    _ x1: Double,
    _ y1: Double,
    _ x2: Double,
    _ y2: Double,
    _ color: String,
    _ attributes: String
  ) {
    lines.append(
      "<line x1=\"\(Self.number(x1))\" y1=\"\(Self.number(y1))\" x2=\"\(Self.number(x2))\""
        + " y2=\"\(Self.number(y2))\" stroke=\"\(color)\"\(attributes)/>"
    )
  }

  /// One decimal, not negative.
  static func number(_ value: Double) -> String {
    let tenths = Int((min(max(value, 0), 1e9) * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }

  /// For content of XML 1.0, in which most control characters can't occur at all.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\n", "\t": result.unicodeScalars.append(scalar)
      case _ where scalar.value < 0x20 || scalar.value == 0xfffe || scalar.value == 0xffff:
        result += "\u{fffd}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
