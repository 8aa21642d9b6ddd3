import AdvancedOperations
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A file that a map is written into.
struct MapFile: Sendable {
  let path: String

  /// Writes the whole map or, where that goes wrong, leaves the file as it was.
  ///
  /// - Throws: A ``FileProblem``, or a `CancellationError` when the operation that it is called
  ///   from was cancelled.
  func write(_ svg: String) throws {
    var status = stat()
    guard stat(path, &status) == 0 else {
      let code = errno
      // Nothing is there, or a link to nothing.
      guard code == ENOENT else {
        throw FileProblem.cannotWrite(path: path, reason: OpenFile.reason(code))
      }
      return try replace(with: svg)
    }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: throw FileProblem.isFolder(path: path)
    case S_IFREG:
      if !isMap { throw FileProblem.notAMap(path: path) }
      try replace(with: svg)
    default:
      // A pipe, or a device such as /dev/null, which is not to be replaced by a file.
      try OpenFile(writing: path, for: .current).append(Data(svg.utf8), path: path)
    }
  }

  /// Where links lead: what is there is to be replaced, and not the link.
  private var target: URL { URL(filePath: path).resolvingSymlinksInPath() }

  private func replace(with svg: String) throws(FileProblem) {
    do {
      try Data(svg.utf8).write(to: target, options: .atomic)
    } catch {
      throw .cannotWrite(path: path, reason: Self.reason(error))
    }
  }

  /// Whether a file may be replaced: a slip of the hand must not cost a feed or a database.
  private var isMap: Bool {
    guard let handle = try? FileHandle(forReadingFrom: target) else { return false }
    defer { try? handle.close() }
    guard let start = try? handle.read(upToCount: 1_024), !start.isEmpty else { return true }
    return String(decoding: start, as: UTF8.self).contains("<svg")
  }

  /// The system's reason, without the sentence around it.
  private static func reason(_ error: any Error) -> String {
    let error = error as NSError
    let cause = (error.userInfo[NSUnderlyingErrorKey] as? NSError) ?? error
    if cause.domain == NSPOSIXErrorDomain { return OpenFile.reason(Int32(cause.code)) }
    let text = error.localizedFailureReason ?? error.localizedDescription
    return text.hasSuffix(".") ? String(text.dropLast()) : text
  }
}
