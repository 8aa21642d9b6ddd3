extension Unicode.Scalar {
  /// Whether a terminal shows the character, and does nothing else because of it.
  var isPrintable: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: false
    default: !properties.isBidiControl
    }
  }
}

extension String {
  /// The text as a terminal can show it without harm.
  ///
  /// White space among what moves the cursor, changes colours or turns text around becomes a space,
  /// the rest `�`.
  ///
  /// - Parameter keepsLines: Whether line feeds stay.
  /// - Returns: The text, on one line unless lines are kept.
  package func printable(keepsLines: Bool = false) -> String {
    guard unicodeScalars.contains(where: { !$0.isPrintable }) else { return self }
    var text = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      if scalar.isPrintable || keepsLines && scalar == "\n" {
        text.append(scalar)
      } else {
        text.append(scalar.properties.isWhitespace ? " " : "\u{FFFD}")
      }
    }
    return String(text)
  }

  /// The beginning of a text, to be quoted in a sentence: on one line, and short.
  package func excerpt(_ length: Int = 40) -> String {
    let text = String(String.UnicodeScalarView(unicodeScalars.prefix(length * 8 + 8))).printable()
    return text.count <= length ? text : text.prefix(length - 1) + "…"
  }
}
