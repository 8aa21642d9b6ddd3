import TerminalSupport

/// What a terminal shows after what was written to it: enough of one for this program.
struct Screen {
  let width: Int
  let height: Int
  /// The rows that have left at the top.
  private(set) var scrolled: [String] = []
  private var rows: [[Character]]
  private var (row, column) = (0, 0)
  private(set) var title: String?
  /// What it was asked for and can't do.
  private(set) var unknown: [String] = []

  init(width: Int = 80, height: Int = 24) {
    (self.width, self.height) = (width, height)
    rows = [[]]
  }

  /// All rows with something on them, those that have left too.
  var text: String {
    var lines = (scrolled + rows.map { String($0) }).map { line in
      String(line.reversed().drop { $0 == " " }.reversed())
    }
    while lines.last == "" { lines.removeLast() }
    return lines.joined(separator: "\n")
  }

  var cursor: (row: Int, column: Int) { (row, column) }

  mutating func write(_ text: String) {
    // Scalars, as a terminal gets them; marks join the character before.
    var scalars = Substring(text).unicodeScalars
    while let scalar = scalars.popFirst() {
      switch scalar {
      case "\u{1B}": escape(&scalars)
      case "\n": lineFeed()
      case "\r": column = 0
      case "\u{8}": column = max(column - 1, 0)
      default: put(scalar)
      }
    }
  }

  private mutating func put(_ scalar: Unicode.Scalar) {
    let character = Character(scalar)
    if character.columnCount == 0 { return }
    // The cell after a wide character is taken by it.
    for cell in [character] + (character.columnCount == 2 ? ["\u{200B}"] : []) {
      if column >= width {
        lineFeed()
        column = 0
      }
      while rows[row].count <= column { rows[row].append(" ") }
      rows[row][column] = cell
      column += 1
    }
  }

  private mutating func lineFeed() {
    // A tty makes CR LF of it.
    column = 0
    row += 1
    if row == rows.count { rows.append([]) }
    if rows.count > height {
      scrolled.append(String(rows.removeFirst()))
      row -= 1
    }
  }

  private mutating func escape(_ scalars: inout Substring.UnicodeScalarView) {
    guard scalars.popFirst() == "[" else {
      unknown.append("ESC")
      return
    }
    var parameters = ""
    while let next = scalars.first, next.value < 0x40 {
      parameters.unicodeScalars.append(scalars.removeFirst())
    }
    let number = Int(parameters)
    switch scalars.popFirst() {
    case "A": row = max(row - (number ?? 1), 0)
    case "K": if column < rows[row].count { rows[row].removeSubrange(column...) }
    case "J":
      if column < rows[row].count { rows[row].removeSubrange(column...) }
      rows.removeSubrange((row + 1)...)
    case "m": break
    case let letter: unknown.append("\(parameters)\(letter.map(String.init) ?? "")")
    }
  }
}
