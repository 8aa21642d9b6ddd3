/// A name in lines, such that boxes of graphs have a width that fits beside others.
package enum FoldedName {
  private static let width = 28
  private static let mostLines = 3

  /// The lines: one at least, and three at most, with “…” for what is left out.
  ///
  /// A line ends behind a space or a mark between words if there is one in its second half.
  package static func lines(of name: String) -> [String] {
    var rest = Array(name.prefix(width * mostLines + 1))
    // What has no room in three lines: the end says more than the middle.
    if rest.count > width * mostLines {
      rest = name.prefix(width * 2 - 1) + ["…"] + name.suffix(width / 2)
    }
    var lines: [String] = []
    while rest.count > width, lines.count < mostLines - 1 {
      let isMark = rest[..<width].lastIndex { " -_/.,:;|".contains($0) } ?? 0
      let length = isMark >= width / 2 ? isMark + 1 : width
      let isSpace = rest[length - 1] == " "
      lines.append(String(rest[..<(isSpace ? length - 1 : length)]))
      rest.removeFirst(length)
    }
    if rest.count > width {
      rest = rest.prefix(width / 2 - 1) + ["…"] + rest.suffix(width / 2)
    }
    return lines + [String(rest)]
  }
}
