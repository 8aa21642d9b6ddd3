/// A place in a file: line and column from 1, columns in Unicode scalars, as YAML counts them.
struct Place: Hashable, Comparable, Sendable {
  var line: Int
  var column: Int

  static func < (one: Place, other: Place) -> Bool {
    (one.line, one.column) < (other.line, other.column)
  }
}

/// The text of a file by its lines, which end where YAML ends them.
struct SourceText: Sendable {
  /// The lines without what ends them.
  let lines: [[Unicode.Scalar]]

  /// Splits a text.
  init(_ text: String) {
    var lines: [[Unicode.Scalar]] = []
    var line: [Unicode.Scalar] = []
    var isAfterReturn = false
    for scalar in text.unicodeScalars {
      if isAfterReturn {
        isAfterReturn = false
        if scalar == "\n" { continue }
      }
      switch scalar {
      case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}":
        lines.append(line)
        line = []
        isAfterReturn = scalar == "\r"
      default: line.append(scalar)
      }
    }
    lines.append(line)
    self.lines = lines
  }

  /// A line by its number, from 1; nil if there is none.
  func line(_ number: Int) -> [Unicode.Scalar]? {
    lines.indices.contains(number - 1) ? lines[number - 1] : nil
  }

  /// The place where a text occurs for the n-th time, from 0, at or after another place.
  ///
  /// Comments are not told from values: a place that is a little wrong only moves a caret.
  func place(of text: String, occurrence: Int, from start: Place) -> Place? {
    let wanted = Array(text.unicodeScalars)
    var left = occurrence
    var number = start.line
    var from = start.column - 1
    while let line = line(number) {
      var index = max(0, from)
      while index + wanted.count <= line.count {
        if line[index..<(index + wanted.count)].elementsEqual(wanted) {
          if left == 0 { return Place(line: number, column: index + 1) }
          left -= 1
          index += wanted.count
        } else {
          index += 1
        }
      }
      number += 1
      from = 0
    }
    return nil
  }

  /// The place of a character of a scalar's text, by its offset.
  ///
  /// - Parameters:
  ///   - offset: In Unicode scalars.
  ///   - text: The scalar's text.
  ///   - start: Where the scalar, with its quotes, anchor and tag, begins.
  /// - Returns: The place; where escapes or folding keep it from being found, that of the scalar.
  func place(ofOffset offset: Int, in text: String, at start: Place) -> Place {
    guard let first = line(start.line) else { return start }
    let before = Array(text.unicodeScalars.prefix(offset))
    var column = start.column - 1
    // An anchor and a tag stand before the text.
    while column < first.count, first[column] == "&" || first[column] == "!" {
      while column < first.count, first[column] != " " { column += 1 }
      while column < first.count, first[column] == " " { column += 1 }
    }
    guard column < first.count else { return start }
    if first[column] == "|" {
      let lines = before.split(separator: "\n", omittingEmptySubsequences: false)
      guard let last = lines.last, let line = line(start.line + lines.count) else { return start }
      let indentation = line.prefix { $0 == " " }.count
      guard line.dropFirst(indentation).starts(with: last) else { return start }
      return Place(line: start.line + lines.count, column: indentation + last.count + 1)
    }
    if first[column] == "\"" || first[column] == "'" { column += 1 }
    guard first.dropFirst(column).starts(with: before) else { return start }
    return Place(line: start.line, column: column + offset + 1)
  }
}
