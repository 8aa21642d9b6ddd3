extension String {
  /// The text without the sequences that set colours, move the cursor or name the window.
  ///
  /// Other control characters stay; ``printable(keepsLines:)`` replaces them. Of a line that was
  /// written over with carriage returns the last text remains, as on a terminal.
  package var withoutEscapeSequences: String {
    guard unicodeScalars.contains(where: { $0 == "\u{1B}" || $0 == "\r" || $0 == "\u{9B}" }) else {
      return self
    }
    var text = String.UnicodeScalarView()
    var scalars = unicodeScalars[...]
    var lineBegin = text.startIndex
    while let scalar = scalars.popFirst() {
      switch scalar {
      case "\u{1B}": Self.skipEscape(&scalars)
      case "\u{9B}": Self.skipParameters(&scalars)
      case "\r":
        // At the end of the line it is half of a line end.
        if let next = scalars.first, next != "\n", next != "\r" {
          text.removeSubrange(lineBegin...)
        }
      default:
        text.append(scalar)
        if scalar == "\n" { lineBegin = text.endIndex }
      }
    }
    return String(text)
  }

  /// What follows ESC: `[`, parameters and a letter; `]`, text and its end; or one character.
  private static func skipEscape(_ scalars: inout Substring.UnicodeScalarView) {
    switch scalars.first {
    case "[":
      scalars.removeFirst()
      skipParameters(&scalars)
    case "]", "P", "X", "^", "_":
      var rest = scalars.dropFirst()
      // Not ended on this line: what looked like a sequence was none.
      while let scalar = rest.popFirst(), scalar != "\n" {
        let isEnd = scalar == "\u{1B}" && rest.first == "\\"
        if isEnd { rest.removeFirst() }
        if isEnd || scalar == "\u{7}" || scalar == "\u{9C}" {
          scalars = rest
          return
        }
      }
    case "(", ")", "*", "+", "#", "%": scalars = scalars.dropFirst(2)
    case let scalar? where scalar.value >= 0x30 && scalar.value < 0x7F: scalars.removeFirst()
    default: break
    }
  }

  private static func skipParameters(_ scalars: inout Substring.UnicodeScalarView) {
    while let next = scalars.first, next.value >= 0x20, next.value < 0x40 { scalars.removeFirst() }
    if let next = scalars.first, next.value >= 0x40, next.value < 0x7F { scalars.removeFirst() }
  }
}
