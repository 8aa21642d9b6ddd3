import TerminalSupport

/// Some lines at the bottom of a terminal that are written over, below others that scroll up.
///
/// A value: it says what to write, and remembers what is there.
struct LiveBlock: Sendable {
  private var shown: [StyledLine] = []
  private let colour: Bool

  init(colour: Bool) { self.colour = colour }

  /// What to write so that `above` is added above the block, and the block is `lines`.
  ///
  /// The cursor stays on the line below the block, where the `^C` of a terminal does no harm.
  ///
  /// - Returns: nil if nothing changes.
  mutating func update(
    above: [StyledLine],
    lines: [StyledLine],
    width: Int,
    height: Int
  ) -> TerminalText? {
    if above.isEmpty, lines == shown { return nil }
    var text = begin(width: width, height: height)
    for line in above + lines {
      // What was longer is erased behind each line: erasing all of it first would flicker.
      text = text + line.terminalText(colour: colour) + "\u{1B}[K\n"
    }
    shown = lines
    return text + "\u{1B}[J"
  }

  /// Leaves the block as it is: the next one is drawn where the cursor is.
  mutating func forget() { shown = [] }

  /// The cursor goes to where the block begins.
  private func begin(width: Int, height: Int) -> TerminalText {
    // A terminal that became narrower has broken the lines that were there.
    let rows = shown.reduce(0) { $0 + max(1, ($1.columnCount + width - 1) / max(width, 1)) }
    if rows == 0 { return "\r" }
    // What has left at the top can't be reached.
    return "\r\u{1B}[\(min(rows, max(height - 1, 1)))A"
  }
}
