import TerminalSupport

/// Writes elements of SVG, one to a line.
struct SVGWriter {
  typealias Attributes = KeyValuePairs<String, String>

  private var lines: [String] = []
  private var openNames: [String] = []

  /// Begins an element that has others in it, until `end()`.
  mutating func begin(_ name: String, _ attributes: Attributes = [:]) {
    lines.append("<\(Self.tag(name, attributes))>")
    openNames.append(name)
  }

  /// Ends the element that was begun last.
  mutating func end() {
    lines.append("</\(openNames.removeLast())>")
  }

  /// Adds an element without content.
  mutating func add(_ name: String, _ attributes: Attributes) {
    lines.append("<\(Self.tag(name, attributes))/>")
  }

  /// Adds an element of text.
  mutating func add(_ name: String, _ attributes: Attributes = [:], text: String) {
    lines.append("<\(Self.tag(name, attributes))>\(text.escapedForXML)</\(name)>")
  }

  /// Adds an element that viewers explain with a title when the pointer rests on it.
  mutating func add(_ name: String, _ attributes: Attributes, title: String) {
    lines.append(
      "<\(Self.tag(name, attributes))><title>\(title.escapedForXML)</title></\(name)>"
    )
  }

  /// The document; every element has to be ended.
  func document() -> String {
    assert(openNames.isEmpty, "The SVG is not complete: end \(openNames) before asking for it.")
    return (["<?xml version=\"1.0\" encoding=\"UTF-8\"?>"] + lines + [""]).joined(separator: "\n")
  }

  private static func tag(_ name: String, _ attributes: Attributes) -> String {
    attributes.reduce(into: name) { tag, attribute in
      tag += " \(attribute.key)=\"\(attribute.value.escapedForXML)\""
    }
  }
}

extension String {
  /// The text as XML 1.0 can have it: its marks escaped, control characters left out.
  fileprivate var escapedForXML: String {
    unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      case "\t", "\n", "\r": text += " "
      case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": break
      case _ where !scalar.isPrintable:
        // A viewer shows the same, and a terminal that the file is written to obeys nothing.
        text += "&#x\(String(scalar.value, radix: 16));"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}
