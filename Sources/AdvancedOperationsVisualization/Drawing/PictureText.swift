import AdvancedOperations

/// How much room a text takes in a picture, whose reader has fonts of their own.
///
/// The widths are upper bounds for the usual sans-serif fonts: those of the widest, DejaVu Sans, in
/// classes of letters. With Helvetica or Arial a fifth of the room stays empty.
enum PictureText {
  /// In units of the font's size.
  static func width(of text: some Sequence<Character>, size: Double, isBold: Bool = false) -> Double
  {
    text.reduce(0) { $0 + width(of: $1) } * size * (isBold ? 1 : 0.93)
  }

  /// The text, or its begin and its end with “…” in between, as much as has room.
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
    // Latin, Greek and Cyrillic letters; then scripts with wide signs, and pictures.
    case _ where character.unicodeScalars.allSatisfy { $0.value < 0x1100 }: 0.95
    default: character == "…" ? 1 : 1.35
    }
  }
}

extension Sequence<Character> {
  /// The characters at the begin that have room.
  ///
  /// - Parameters:
  ///   - room: How much there is.
  ///   - size: How much a character takes.
  /// - Returns: The characters.
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

/// A name in lines, such that boxes of graphs have a width that fits beside others.
package enum FoldedName {
  /// In columns, of which the signs of East Asia and emoji take two.
  private static let width = 28
  private static let mostLines = 3

  /// The lines: one at least, and three at most, with “…” for what is left out.
  ///
  /// A line ends behind a space or a mark between words if there is one in its second half. Line
  /// breaks of the name are spaces.
  package static func lines(of name: String) -> [String] {
    let name = name.inOneLine
    var rest = Array(name.prefix(width * mostLines + 1))
    // What has no room in three lines: the end says more than the middle.
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

  /// Blocks of wide signs, roughly: what is taken for wide only makes a line shorter.
  private static func columns(of character: Character) -> Int {
    switch character.unicodeScalars.first?.value ?? 0 {
    case 0x1100...0x11ff, 0x2e80...0xd7ff, 0xf900...0xfaff, 0xfe30...0xff60, 0x1_f000...0x3_ffff: 2
    default: 1
    }
  }
}
