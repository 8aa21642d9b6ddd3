import TerminalSupport

/// Rows with columns of the same width.
struct Table {
  enum Alignment { case left, right }

  let heads: [String]
  let alignments: [Alignment]
  private(set) var rows: [[StyledLine]] = []

  init(_ columns: [(String, Alignment)]) {
    heads = columns.map(\.0)
    alignments = columns.map(\.1)
  }

  mutating func add(_ row: [StyledLine]) { rows.append(row) }

  /// The lines, cut to a number of columns.
  func lines(width: Int) -> [StyledLine] {
    let all = [heads.map { StyledLine($0, .faint) }] + rows
    let widths = heads.indices.map { column in
      all.map { $0[column].columnCount }.max() ?? 0
    }
    return all.map { row in
      var line = StyledLine()
      for (column, cell) in row.enumerated() {
        if column == row.count - 1, cell.columnCount == 0 { continue }
        if column > 0 { line.add("  ") }
        let space = String(repeating: " ", count: widths[column] - cell.columnCount)
        let isLast = column == row.count - 1
        switch alignments[column] {
        case .left: line = line + cell + StyledLine(isLast ? "" : space)
        case .right: line = line + StyledLine(space) + cell
        }
      }
      return line.cut(toColumns: width)
    }
  }
}
