import TerminalSupport

/// A line of text in colours, whose width is known.
struct StyledLine: Equatable, Sendable {
  /// What a part looks like where there is colour.
  enum Look: String, Sendable {
    case plain = ""
    case bold = "1"
    case faint = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case cyan = "36"
  }

  struct Part: Equatable, Sendable {
    var text: String
    var look: Look
  }

  private(set) var parts: [Part] = []

  init(_ text: String = "", _ look: Look = .plain) { add(text, look) }

  /// Adds text, of which a terminal obeys nothing.
  mutating func add(_ text: String, _ look: Look = .plain) {
    if !text.isEmpty { parts.append(Part(text: text.printable(), look: look)) }
  }

  static func + (one: StyledLine, other: StyledLine) -> StyledLine {
    var line = one
    line.parts += other.parts
    return line
  }

  /// The text without colours.
  var text: String { parts.map(\.text).joined() }

  var columnCount: Int { parts.reduce(0) { $0 + $1.text.columnCount } }

  /// The line, cut to a number of columns.
  func cut(toColumns columns: Int) -> StyledLine {
    var (line, room) = (StyledLine(), columns)
    for (index, part) in parts.enumerated() {
      let count = part.text.columnCount
      // What follows needs the ellipsis to have a column.
      let isLast = index == parts.count - 1
      guard count < room || count == room && isLast else {
        let rest = parts[index...].map(\.text).joined()
        line.add(rest.cut(toColumns: room), part.look)
        break
      }
      line.parts.append(part)
      room -= count
    }
    return line
  }

  func terminalText(colour: Bool) -> TerminalText {
    parts.reduce(into: "" as TerminalText) { text, part in
      if colour, part.look != .plain {
        text = text + "\u{1B}[\(TerminalText(filtered: part.look.rawValue))m\(part.text)\u{1B}[0m"
      } else {
        text = text + "\(part.text)"
      }
    }
  }
}
