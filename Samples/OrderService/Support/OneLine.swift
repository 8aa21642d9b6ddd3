extension String {
  /// The text with signs in the place of characters that terminals and readers obey: escapes, returns,
  /// directions of writing.
  package var withoutControls: String {
    var text = ""
    for scalar in unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator:
        text.unicodeScalars.append(scalar == "\n" ? scalar : "\u{FFFD}")
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// The beginning of a text that comes from outside, as a part of a sentence: on one line, and without
  /// characters that terminals obey.
  ///
  /// - Parameter limit: The number of Unicode scalars, at most.
  /// - Returns: The text, with an ellipsis if it is longer.
  package func oneLine(atMost limit: Int) -> String {
    let scalars = unicodeScalars
    let start = String(String.UnicodeScalarView(scalars.prefix(limit)))
    let isCut = scalars.dropFirst(limit).isEmpty == false
    return start.withoutControls.replacing("\n", with: "\u{FFFD}") + (isCut ? "…" : "")
  }
}
