/// The elements of an SVG picture, as text.
struct PictureElements {
  private(set) var lines: [String] = []

  /// Adds an element without changing it.
  mutating func add(_ element: String) { lines.append(element) }

  private mutating func add(
    _ name: String,
    _ numbers: KeyValuePairs<String, Double>,
    _ attributes: String,
    text: String? = nil
  ) {
    let places = numbers.map { " \($0)=\"\(Self.number($1))\"" }.joined()
    let end = text.map { ">\(Self.escaped($0))</\(name)>" } ?? "/>"
    lines.append("<\(name)\(places)\(attributes)\(end)")
  }

  mutating func label(_ text: String, _ x: Double, _ y: Double, _ attributes: String) {
    add("text", ["x": x, "y": y], attributes, text: text)
  }

  mutating func rectangle(
    _ x: Double,
    _ y: Double,
    _ width: Double,
    _ height: Double,
    _ color: String,
    _ attributes: String
  ) {
    let numbers: KeyValuePairs = ["x": x, "y": y, "width": width, "height": height]
    add("rect", numbers, " fill=\"\(color)\"\(attributes)")
  }

  /// Adds a line between two points.
  mutating func line(
    _ begin: (x: Double, y: Double),
    _ end: (x: Double, y: Double),
    _ color: String,
    _ attributes: String
  ) {
    let numbers: KeyValuePairs = ["x1": begin.x, "y1": begin.y, "x2": end.x, "y2": end.y]
    add("line", numbers, " stroke=\"\(color)\"\(attributes)")
  }

  /// Returns a document with a sheet of paper behind the elements.
  ///
  /// - Parameters:
  ///   - size: The size of the picture in the coordinates of the elements.
  ///   - scale: The factor from these coordinates to the size in which viewers show the document.
  ///   - kind: The class of the document, so that the rules of its style don't apply to other
  ///     pictures.
  ///   - fontSize: The default size of text.
  ///   - head: The elements in front of the paper: a style, and a title if there is one.
  /// - Returns: The text of the document.
  func document(
    _ size: (width: Double, height: Double),
    scale: Double,
    of kind: String,
    fontSize: Double,
    head: String
  ) -> String {
    let (width, height) = (Self.number(size.width), Self.number(size.height))
    let shown =
      "width=\"\(Self.number(size.width * scale))\" height=\"\(Self.number(size.height * scale))\""
    return """
      <svg xmlns="http://www.w3.org/2000/svg" \(shown) \
      viewBox="0 0 \(width) \(height)" class="\(kind)" role="img" \
      font-family="Helvetica, Arial, sans-serif" font-size="\(Self.number(fontSize))">
      \(head)
      <rect class="paper" width="100%" height="100%" fill="#ffffff"/>
      \(lines.joined(separator: "\n"))
      </svg>

      """
  }

  /// Returns a number with at most one decimal; negative numbers become zero.
  static func number(_ value: Double) -> String {
    let tenths = Int((min(max(value, 0), 1e8) * 10).rounded())  // 32 bits: at most 1e9
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }

  /// Escapes text for XML 1.0, in which most control characters aren't allowed.
  static func escaped(_ text: String) -> String {
    text.escaped { scalar in
      switch scalar {
      case "&": "&amp;"
      case "<": "&lt;"
      case ">": "&gt;"
      case "\n", "\t": nil
      // Replace control characters above ASCII, too: a terminal interprets them if the file is
      // printed.
      case "\u{7f}"..."\u{9f}": "\u{fffd}"
      default: scalar.value < 0x20 || [0xfffe, 0xffff].contains(scalar.value) ? "\u{fffd}" : nil
      }
    }
  }
}

extension String {
  /// Returns the text with some of its characters replaced, as a file format requires.
  ///
  /// - Parameter replacement: Returns the replacement of a character; nil for the character itself.
  /// - Returns: The text with the replacements.
  func escaped(_ replacement: (Unicode.Scalar) -> String?) -> String {
    var result = ""
    for scalar in unicodeScalars {
      if let text = replacement(scalar) {
        result += text
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

extension Unicode.Scalar {
  var isControl: Bool { value < 0x20 || value == 0x7f }
}
