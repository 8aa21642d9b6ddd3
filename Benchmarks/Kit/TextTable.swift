/// Columns of text, aligned.
package struct TextTable {
  package enum Alignment: Sendable { case left, right }

  private let alignments: [Alignment]
  private var rows: [[String]] = []

  /// - Parameter alignments: Those of the columns; further columns are aligned to the right.
  package init(_ alignments: [Alignment] = [.left]) {
    self.alignments = alignments
  }

  package mutating func add(_ cells: [String]) { rows.append(cells) }

  /// The lines, with two spaces between columns and none at the end of a line.
  package func lines(indent: Int = 0) -> [String] {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in
      rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
    }
    return rows.map { row in
      var line = String(repeating: " ", count: indent)
      for (column, cell) in row.enumerated() {
        let padding = String(repeating: " ", count: widths[column] - cell.count)
        let isLeft = column < alignments.count && alignments[column] == .left
        line += (column > 0 ? "  " : "") + (isLeft ? cell + padding : padding + cell)
      }
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}
