import Foundation

/// What a step printed.
struct LogFile {
  let path: String

  /// How much of the end is read to find the last lines.
  static let tail: UInt64 = 65_536

  var exists: Bool { FileManager.default.fileExists(atPath: path) }

  /// The last lines that have something on them; a large file isn't read from its beginning.
  func lastLines(_ count: Int) -> [String] {
    if InputFile.isPipe(path) { return [] }
    guard let handle = FileHandle(forReadingAtPath: path) else { return [] }
    defer { try? handle.close() }
    let size = (try? handle.seekToEnd()) ?? 0
    let begin = size > Self.tail ? size - Self.tail : 0
    try? handle.seek(toOffset: begin)
    let data = (try? handle.readToEnd()) ?? Data()
    var lines = String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    // The first one may have been cut.
    if begin > 0, lines.count > 1 { lines.removeFirst() }
    // Those of the last attempt.
    if let begin = lines.lastIndex(where: { $0.hasPrefix("—— attempt ") }) {
      lines.removeSubrange(...begin)
    }
    return Array(lines.filter { $0.contains { !$0.isWhitespace } }.suffix(count))
  }
}
