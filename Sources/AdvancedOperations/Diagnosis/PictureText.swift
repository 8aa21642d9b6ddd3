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
