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
