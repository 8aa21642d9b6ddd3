import AdvancedOperations

/// The estimated width of text in a picture, because the fonts of its viewer are unknown.
///
/// The widths are upper bounds for the usual sans-serif fonts. The widths come from classes of
/// letters in DejaVu Sans, which is the widest of these fonts. With Helvetica or Arial, a fifth of
/// the width stays empty.
enum PictureText {
  /// Returns the width of a text, in the unit of the font size.
  static func width(of text: some Sequence<Character>, size: Double, isBold: Bool = false) -> Double
  {
    text.reduce(0) { $0 + width(of: $1) } * size * (isBold ? 1 : 0.93)
  }

  /// Returns the text if it fits, otherwise its beginning and its end with “…” in between.
  static func fitted(_ text: String, width: Double, size: Double, isBold: Bool) -> String {
    let room = width / size / (isBold ? 1 : 0.93)
    var (used, fits) = (0.0, true)
    for character in text {
      used += Self.width(of: character)
      if used > room {
        fits = false
        break
      }
    }
    if fits { return text }
    let free = max(room - Self.width(of: "…"), 0)
    let tail = Array(text.reversed().begin(in: free / 3, Self.width).reversed())
    let left = free - tail.reduce(0) { $0 + Self.width(of: $1) }
    return String(text.begin(in: left, Self.width)) + "…" + String(tail)
  }

  private static func width(of character: Character) -> Double {
    switch character {
    case "i", "j", "l", "I", "J", " ", ",", ".", ":", ";", "/", "\\", "|", "'": 0.4
    case "f", "t", "r", "-", "!", "(", ")", "[", "]", "\"", "*", "_", "`": 0.55
    case "m", "w", "M", "W", "@", "%": 1.11
    case "a"..."z", "0"..."9": 0.73
    case "A"..."Z", "#", "+", "<", "=", ">", "^", "~", "&": 0.91
    // Latin, Greek and Cyrillic letters; then scripts with wide characters, and emoji.
    case _ where character.unicodeScalars.allSatisfy { $0.value < 0x1100 }: 0.95
    default: character == "…" ? 1 : 1.35
    }
  }
}

extension Sequence<Character> {
  /// Returns the first characters that fit.
  ///
  /// - Parameters:
  ///   - room: The available width.
  ///   - size: Returns the width of a character.
  /// - Returns: The characters that fit.
  func begin<Size: AdditiveArithmetic & Comparable>(
    in room: Size,
    _ size: (Character) -> Size
  ) -> [Character] {
    var used = Size.zero
    return Array(
      prefix { character in
        used += size(character)
        return used <= room
      }
    )
  }
}

/// A name that is folded into lines, so that the boxes of a graph aren't too wide.
package enum FoldedName {
  /// The width of a line in columns; an East Asian character or an emoji takes two columns.
  private static let width = 28
  private static let mostLines = 3

  /// Returns one to three lines of a name, with “…” in place of omitted text.
  ///
  /// A line ends after a space or a punctuation mark if its second half contains one. Line breaks
  /// of the name become spaces.
  package static func lines(of name: String) -> [String] {
    let name = name.inOneLine
    var rest = Array(name.prefix(width * mostLines + 1))
    // A name that is too long keeps its end, because the end is more informative than the middle.
    if columns(of: rest) > width * mostLines {
      rest = rest.begin(in: width * 2 - 1, Self.columns) + ["…"] + end(of: name, columns: width / 2)
    }
    var lines: [String] = []
    while columns(of: rest) > width, lines.count < mostLines - 1 {
      let room = rest.begin(in: width, Self.columns).count
      let isMark = rest[..<room].lastIndex { " -_/.,:;|".contains($0) } ?? 0
      let length = isMark >= room / 2 ? isMark + 1 : room
      let isSpace = rest[length - 1] == " "
      lines.append(String(rest[..<(isSpace ? length - 1 : length)]))
      rest.removeFirst(length)
    }
    if columns(of: rest) > width {
      let end = end(of: String(rest), columns: width / 2)
      rest = rest.begin(in: width / 2 - 1, Self.columns) + ["…"] + end
    }
    return lines + [String(rest)]
  }

  private static func end(of text: String, columns: Int) -> [Character] {
    text.suffix(columns).reversed().begin(in: columns, Self.columns).reversed()
  }

  private static func columns(of text: [Character]) -> Int {
    text.reduce(0) { $0 + columns(of: $1) }
  }

  /// Returns the columns of a character, by approximate blocks of wide characters.
  ///
  /// A narrow character that counts as wide only makes a line shorter.
  private static func columns(of character: Character) -> Int {
    switch character.unicodeScalars.first?.value ?? 0 {
    case 0x1100...0x11ff, 0x2e80...0xd7ff, 0xf900...0xfaff, 0xfe30...0xff60, 0x1_f000...0x3_ffff: 2
    default: 1
    }
  }
}
