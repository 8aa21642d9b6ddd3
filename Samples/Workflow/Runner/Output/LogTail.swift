#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Reads what an attempt writes to a log, from some place on, and cuts it into lines.
///
/// A command has the log itself as its output. So nothing is lost when the runner is killed, a
/// command that prints much isn't slowed down by what shows its lines, and what it leaves running
/// in the background keeps no pipe open.
struct LogTail {
  /// How many bytes are read at a time, before it is another log's turn.
  static let pieceSize = 1 << 16

  let path: String
  private(set) var offset: Int
  private var lines = LineSplitter()

  init(_ path: String, from offset: Int) {
    self.path = path
    self.offset = offset
  }

  /// How many bytes a log has; none if there is no log.
  static func size(of path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Reports the lines that have come, of one piece at most.
  ///
  /// - Parameters:
  ///   - end: Where the attempt's part of the log ends; nil: it isn't over.
  ///   - report: Called for each line; for one without a line break when all has been read.
  /// - Returns: Whether there is more.
  /// - Throws: Why the log can't be read, in words; nothing more comes then.
  mutating func read(upTo end: Int?, _ report: (String) -> Void) throws(LogProblem) -> Bool {
    let size = end ?? Self.size(of: path)
    let count = min(Self.pieceSize, size - offset)
    if count < 0, end != nil { throw LogProblem(reason: "it was removed or cut", bytes: nil) }
    if count > 0 {
      let bytes: [UInt8]
      do throws(SystemCallError) {
        // Not kept open: of thousands the lines may have to wait.
        bytes = try OpenFile(reading: path).read(atMost: count, at: offset)
      } catch {
        throw LogProblem(reason: "\(error)", bytes: size - offset)
      }
      // Somebody has cut it.
      if bytes.isEmpty, end != nil {
        throw LogProblem(reason: "it was removed or cut", bytes: size - offset)
      }
      offset += bytes.count
      lines.add(bytes, report)
    }
    if offset < size, count > 0 { return true }
    if end != nil { lines.end(report) }
    return false
  }
}

/// Why lines of a step aren't reported.
struct LogProblem: Error, Equatable {
  /// A part of a sentence.
  let reason: String
  /// How much of the log isn't reported; nil if that isn't known.
  let bytes: Int?

  /// A sentence without a full stop; nil if nothing is missing.
  func text(_ path: String) -> String? {
    switch bytes {
    case 0: nil
    case nil: "\(path) is not shown to its end: \(reason)"
    case let bytes?: "\(bytes) bytes of \(path) are not shown: \(reason)"
    }
  }
}
