/// Reads what is written to a log from some place on, and cuts it into lines.
///
/// A command has the log itself as its output. So nothing is lost when the runner is killed, a
/// command that prints much isn't slowed down by what shows its lines, and what it leaves running
/// in the background keeps no pipe open.
struct LogTail {
  private static let pieceSize = 1 << 16

  private let file: OpenFile
  private var offset: Int
  private var lines = LineSplitter()

  init(_ file: OpenFile, from offset: Int) {
    self.file = file
    self.offset = offset
  }

  /// Reports the lines that have come.
  ///
  /// - Parameters:
  ///   - end: How many bytes of the log to read at most; nil for what is there at the time of
  ///     reading.
  ///   - report: Called for each line.
  mutating func read(upTo end: Int? = nil, _ report: (String) -> Void) {
    // A command that prints without end mustn't keep its reader from anything else.
    guard let end = end ?? (try? file.size()) else { return }
    while offset < end {
      let count = min(Self.pieceSize, end - offset)
      guard let bytes = try? file.read(atMost: count, at: offset), !bytes.isEmpty else { return }
      offset += bytes.count
      lines.add(bytes, report)
    }
  }

  /// The command has ended: reports the rest.
  mutating func finish(_ report: (String) -> Void) {
    read(report)
    lines.end(report)
  }
}
