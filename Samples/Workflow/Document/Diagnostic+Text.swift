import TerminalSupport

extension Diagnostic {
  /// The diagnostic as a compiler prints it: place, sentence, line, caret, help.
  ///
  /// - Parameters:
  ///   - file: The name of the file.
  ///   - source: The text of the file.
  ///   - isColoured: Whether a terminal shows it.
  /// - Returns: Lines, each with its end.
  public func text(file: String, source: String, isColoured: Bool = false) -> String {
    text(file: file, source: SourceText(source), isColoured: isColoured)
  }

  func text(file: String, source: SourceText, isColoured: Bool) -> String {
    func paint(_ text: String, _ code: String) -> String {
      isColoured ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
    var place = file.printable()
    if let line {
      place += ":\(line)"
      if let column { place += ":\(column)" }
    }
    let message = paint(message.printable(), "1")
    var text = "\(paint(place + ":", "1")) \(paint("error:", "1;31")) \(message)\n"
    var margin = "   "
    if let line, let content = source.line(line), !source.lines.isEmpty {
      let number = "\(line)"
      let space = String(repeating: " ", count: number.count)
      let excerpt = LineExcerpt(content, column: column ?? 1)
      text += paint(" \(number) |", "2") + (excerpt.text.isEmpty ? "" : " \(excerpt.text)") + "\n"
      if column != nil {
        text += paint(" \(space) |", "2") + " "
        text += String(repeating: " ", count: excerpt.caret) + paint("^", "1;32") + "\n"
      }
      margin = " \(space) "
    }
    if let suggestion {
      text += "\(margin)\(paint("help:", "1;36")) \(suggestion.printable())\n"
    }
    return text
  }
}

/// The part of a line around a column, as a terminal shows it.
struct LineExcerpt {
  /// How many columns of a terminal are shown.
  static let width = 96

  /// The part, with spaces instead of tabs.
  private(set) var text: String
  /// How many columns of the terminal are before that of the caret.
  private(set) var caret: Int

  /// Cuts a line.
  ///
  /// - Parameters:
  ///   - line: The line.
  ///   - column: From 1, in Unicode scalars.
  init(_ line: [Unicode.Scalar], column: Int) {
    var line = line
    var column = column - 1
    // No terminal is wide enough for more; and the work on a line is bounded.
    if line.count > 4 * Self.width {
      let start = max(0, min(column - 2 * Self.width, line.count - 4 * Self.width))
      line = Array(line[start..<min(line.count, start + 4 * Self.width)])
      column -= start
      if start > 0 { line[0] = "…" }
    }
    var end = line.count
    while end > 0, line[end - 1].properties.isWhitespace { end -= 1 }
    let before = Self.cells(line.prefix(column), from: 0)
    caret = before.reduce(0) { $0 + $1.displayWidth }
    let after = Self.cells(line.prefix(max(end, column)).dropFirst(column), from: caret)
    var cells = before + after
    var width = cells.reduce(0) { $0 + $1.displayWidth }
    if width > Self.width {
      // The caret stands in the middle, or where the beginning or the end let it.
      var start = 0
      while caret > Self.width * 2 / 3, start < before.count, width >= Self.width {
        caret -= cells[start].displayWidth
        width -= cells[start].displayWidth
        start += 1
      }
      if start > 0 {
        caret += 1
        width += 1
        cells.replaceSubrange(..<start, with: ["…"])
      }
      if width > Self.width {
        while width >= Self.width, let last = cells.popLast() { width -= last.displayWidth }
        cells.append("…")
      }
    }
    text = String(cells.joined())
  }

  /// The characters as they are shown, tabs as spaces.
  private static func cells(_ scalars: ArraySlice<Unicode.Scalar>, from start: Int) -> [String] {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    var width = start
    return String(view).map { character in
      let cell =
        character == "\t"
        ? String(repeating: " ", count: 4 - width % 4) : String(character).printable()
      width += cell.displayWidth
      return cell
    }
  }
}
