extension Unicode.Scalar {
  /// Whether a terminal shows the character, and does nothing else because of it.
  ///
  /// It isn't so of control characters (those of C1 as well, among them a CSI of one character),
  /// of what separates lines and paragraphs, and of what turns the direction of text around.
  package var isPrintable: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: false
    default: !properties.isBidiControl
    }
  }
}

extension String {
  /// The text as a terminal can show it without harm.
  ///
  /// Text of feeds, servers and file systems may have characters in it that move the cursor, change
  /// colours, set the title of the window or turn text around. White space among them becomes a
  /// space, the others `�`.
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
  ///
  /// - Parameter length: How many characters at most, the last of which is an ellipsis if something
  ///   was left out.
  /// - Returns: The excerpt.
  package func excerpt(_ length: Int = 40) -> String {
    // One more than fits, so that cutting sees that there is more.
    String(unicodeScalars.prefix((length + 1) * Self.scalarsPerCharacter))
      .printable().cut(to: length)
  }

  /// How many scalars a character has at most where texts are cut.
  ///
  /// Letters with accents have two or three and flags have up to seven, but one letter may have a
  /// million accents.
  package static var scalarsPerCharacter: Int { 8 }
}
