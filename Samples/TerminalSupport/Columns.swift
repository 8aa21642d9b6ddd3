extension Character {
  /// How many columns of a terminal the character takes: two for those of East Asia and emoji.
  ///
  /// The ranges are those that Unicode calls wide or full-width (UAX #11), in blocks.
  package var columnCount: Int {
    guard let first = unicodeScalars.first else { return 0 }
    // Nearly all text.
    if first.value < 0x300 { return first.value < 0x20 ? 0 : 1 }
    if first.isWide || unicodeScalars.dropFirst().first == "\u{FE0F}" { return 2 }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: return 1
    }
  }
}

extension Unicode.Scalar {
  fileprivate var isWide: Bool {
    switch value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
      0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19,
      0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1_7000...0x1_8DFF,
      0x1_B000...0x1_B2FF, 0x2_0000...0x3_FFFD:
      true
    default: properties.isEmojiPresentation
    }
  }
}

extension String {
  /// How many columns of a terminal the text takes.
  package var columnCount: Int {
    if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return utf8.count }
    return reduce(0) { $0 + $1.columnCount }
  }

  /// The text, cut to a number of columns, the last of which then is an ellipsis.
  package func cut(toColumns columns: Int) -> String {
    if columns <= 0 { return "" }
    var (end, count) = (startIndex, 0)
    // Where the text would end to leave a column for the ellipsis.
    var cut = startIndex
    var scalars = 0
    while end < endIndex {
      count += self[end].columnCount
      scalars += self[end].unicodeScalars.count
      if count > columns || scalars > columns * Self.scalarsPerCharacter {
        return "\(self[..<cut])…"
      }
      end = index(after: end)
      if count < columns { cut = end }
    }
    return self
  }

  /// The text with spaces after it up to a number of columns.
  package func padded(toColumns columns: Int) -> String {
    self + String(repeating: " ", count: Swift.max(columns - columnCount, 0))
  }
}
