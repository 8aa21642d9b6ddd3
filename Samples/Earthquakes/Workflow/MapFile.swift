import Foundation

/// A file that a map is written into.
struct MapFile: Sendable {
  let path: String

  /// Writes the whole map or, where that goes wrong, leaves the file as it was.
  func write(_ svg: String) throws(FileProblem) {
    let url = URL(filePath: path).resolvingSymlinksInPath()
    let resolved = url.path(percentEncoded: false)
    let type =
      (try? FileManager.default.attributesOfItem(atPath: resolved))?[.type] as? FileAttributeType
    if type == .typeDirectory { throw .isFolder(path: path) }
    if type == .typeRegular, !isMap(url) { throw .notAMap(path: path) }
    // Writing atomically puts a new file in the place of the old one: right for a file, and wrong
    // for a device such as /dev/null.
    let options: Data.WritingOptions = type == nil || type == .typeRegular ? .atomic : []
    do {
      try Data(svg.utf8).write(to: url, options: options)
    } catch {
      throw .cannotWrite(path: path, reason: FeedFile.reason(error))
    }
  }

  /// Whether a file may be replaced: a slip of the hand must not cost a feed or a database.
  private func isMap(_ url: URL) -> Bool {
    guard let handle = try? FileHandle(forReadingFrom: url) else { return false }
    defer { try? handle.close() }
    guard let start = try? handle.read(upToCount: 1_024), !start.isEmpty else { return true }
    return String(decoding: start, as: UTF8.self).contains("<svg")
  }
}
