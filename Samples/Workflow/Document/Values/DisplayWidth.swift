extension String {
  /// How many columns of a terminal the text takes.
  ///
  /// Letters of East Asia and emoji take two, accents and joiners none.
  package var displayWidth: Int {
    if utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return utf8.count }
    return reduce(0) { $0 + $1.displayWidth }
  }
}

extension Character {
  /// How many columns of a terminal the character takes.
  package var displayWidth: Int {
    var width = 0
    for scalar in unicodeScalars {
      // It makes an emoji of the character before it.
      if scalar == "\u{FE0F}" { return 2 }
      width = max(width, scalar.displayWidth)
    }
    return width
  }
}

extension Unicode.Scalar {
  /// How many columns of a terminal it takes alone.
  fileprivate var displayWidth: Int {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    if properties.isEmojiPresentation { return 2 }
    // https://www.unicode.org/reports/tr11: what is wide or full width.
    switch value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
      0xA000...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
      0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F200...0x1F2FF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }
}
