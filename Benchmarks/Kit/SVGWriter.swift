/// Writes elements of SVG, one to a line.
struct SVGWriter {
  typealias Attributes = KeyValuePairs<String, String>

  private var lines: [String] = []
  private var openNames: [String] = []

  /// Begins an element that has others in it, until `end()`.
  mutating func begin(_ name: String, _ attributes: Attributes) {
    lines.append("<\(Self.tag(name, attributes))>")
    openNames.append(name)
  }

  /// Ends the element that was begun last.
  mutating func end() { lines.append("</\(openNames.removeLast())>") }

  /// Adds an element without content.
  mutating func add(_ name: String, _ attributes: Attributes) {
    lines.append("<\(Self.tag(name, attributes))/>")
  }

  /// Adds an element of text.
  mutating func add(_ name: String, _ attributes: Attributes, text: String) {
    lines.append("<\(Self.tag(name, attributes))>\(text.escapedForXML)</\(name)>")
  }

  /// The document; every element has to be ended.
  func document() -> String {
    (["<?xml version=\"1.0\" encoding=\"UTF-8\"?>"] + lines + [""]).joined(separator: "\n")
  }

  private static func tag(_ name: String, _ attributes: Attributes) -> String {
    attributes.reduce(into: name) { $0 += " \($1.key)=\"\($1.value.escapedForXML)\"" }
  }
}

extension String {
  fileprivate var escapedForXML: String {
    reduce(into: "") { text, character in
      switch character {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      default: text.append(character)
      }
    }
  }
}
