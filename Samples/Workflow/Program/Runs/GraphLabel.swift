import TerminalSupport

/// What stands in a box of a graph: a name, folded if it is long, and a word below it.
struct GraphLabel {
  static let fontSize = 13.0
  private static let columns = 28
  private static let mostLines = 3

  /// One at least.
  ///
  /// What has no room is left out of the middle, which says less than the ends.
  let lines: [String]
  let note: String?
  /// How wide it is at most, in the usual fonts.
  let width: Double

  var lineCount: Int { lines.count + (note == nil ? 0 : 1) }

  init(_ name: String, note: String? = nil) {
    lines = Self.lines(of: name)
    self.note = note
    width = (lines + [note ?? ""]).map(Self.width).max() ?? 0
  }

  /// A line ends behind a space or a mark between words, if there is one in its second half.
  private static func lines(of name: String) -> [String] {
    var rest = Array(name.printable().cutInside(to: columns * mostLines))
    var lines: [String] = []
    while lines.count < mostLines - 1, String(rest).columnCount > columns {
      var used = 0
      let room = rest.prefix { character in
        used += character.columnCount
        return used <= columns
      }
      let mark = room.lastIndex { " -_/.,:;@".contains($0) } ?? 0
      let length = mark >= room.count / 2 ? mark + 1 : room.count
      lines.append(String(rest[..<length]))
      rest.removeFirst(length)
    }
    return lines + [String(rest).cutInside(to: columns).cut(toColumns: columns)]
  }

  /// An upper bound: the widths are those of DejaVu Sans, the widest of the usual fonts.
  private static func width(of text: String) -> Double {
    text.reduce(0) { $0 + width(of: $1) } * fontSize
  }

  private static func width(of letter: Character) -> Double {
    switch letter {
    case "i", "j", "l", "I", " ", ",", ".", ":", ";", "/", "\\", "|", "'", "!": 0.41
    case "m", "w", "M", "W", "@", "%", "…": 1
    case "A"..."Z", "#", "+", "<", "=", ">", "~", "&": 0.84
    case _ where letter.isASCII: 0.64
    default: letter.columnCount > 1 ? 1.3 : 0.95
    }
  }
}
