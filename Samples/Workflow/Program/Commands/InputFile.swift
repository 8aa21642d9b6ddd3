import Foundation
import TerminalSupport

/// A file that the command line names for what is read: a file, or a pipe.
enum InputFile {
  /// More than any workflow has; what doesn't end is a mistake.
  static let limit = 1 << 26

  /// Reads all of it.
  ///
  /// - Parameter path: Where it is; `/dev/stdin` and `<(command)` too.
  /// - Returns: The bytes.
  /// - Throws: ``Complaint``.
  static func bytes(_ path: String) throws(Complaint) -> [UInt8] {
    if FileStatus(path)?.isFolder == true {
      throw Complaint(.mistakes, "“\(path)” is a folder; give a file in it")
    }
    let bytes: Data
    do {
      let file = try open(path)
      bytes = try read(file)
    } catch {
      throw Complaint(.mistakes, "“\(path)” can't be read: \(FileReason.of(error))")
    }
    if bytes.count > limit {
      let most = "\(limit >> 20) MB, the most that is read"
      throw Complaint(
        .mistakes,
        "“\(path)” has more than \(most): it is none of this program's files"
      )
    }
    return Array(bytes)
  }

  /// Whether it is there only once.
  static func isPipe(_ path: String) -> Bool {
    FileStatus(path).map { !$0.isFile } ?? false
  }

  private static func open(_ path: String) throws -> FileHandle {
    // Its name can't be opened where it is a socket, or another user's.
    let isInput = path == "/dev/stdin" || path == "/dev/fd/0" || path == "/proc/self/fd/0"
    return isInput ? .standardInput : try FileHandle(forReadingFrom: URL(filePath: path))
  }

  private static func read(_ file: FileHandle) throws -> Data {
    var data = Data()
    while data.count <= limit, let more = try file.read(upToCount: 1 << 20), !more.isEmpty {
      data += more
    }
    return data
  }
}
