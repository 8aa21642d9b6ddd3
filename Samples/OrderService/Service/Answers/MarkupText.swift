import Mustache

/// Text in HTML and SVG, escaped by Unicode scalars: what the page's template is rendered with.
///
/// A parser of HTML reads scalars. Swift's `Character` is a grapheme cluster, so that `<` after U+0600
/// or before U+0301 equals no `"<"`: what replaces characters, as Mustache's own type for HTML does,
/// leaves such a `<` as it is. The template names this type in its first line.
struct MarkupText: MustacheContentType {
  /// What the template calls it.
  static let name = "MARKUP"

  /// The text as Mustache writes it for `{{…}}`.
  func escapeText(_ text: String) -> String { Self.escaped(text) }

  /// The text for content, and for values of attributes in quotes of both kinds.
  static func escaped(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;".unicodeScalars
      case "<": result += "&lt;".unicodeScalars
      case ">": result += "&gt;".unicodeScalars
      case "\"": result += "&quot;".unicodeScalars
      case "'": result += "&#39;".unicodeScalars
      case "\n", "\t", "\r": result.append(scalar)
      // XML has no way at all to write these.
      case _ where scalar.value < 0x20 || scalar.value == 0xfffe || scalar.value == 0xffff:
        result.append("\u{fffd}")
      default: result.append(scalar)
      }
    }
    return String(result)
  }
}
