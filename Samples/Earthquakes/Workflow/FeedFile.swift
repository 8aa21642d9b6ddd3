import AdvancedOperations
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A file with a feed, which is read in pieces: a cancel is noticed between two of them, and while
/// a pipe is waited for.
struct FeedFile: Sendable {
  let path: String

  /// How many bytes are read at a time.
  static let pieceSize = 1 << 18

  /// How large the file says it is; pipes say 0.
  func size() throws(FileProblem) -> ByteCount {
    var status = stat()
    guard stat(path, &status) == 0 else {
      throw .cannotRead(path: path, reason: OpenFile.reason())
    }
    return ByteCount(bytes: Int64(status.st_size))
  }

  /// Reads the whole file, and reports the progress of the operation that it is called from.
  ///
  /// - Parameter maximum: How much there may be, whatever the file says about its size.
  /// - Returns: The bytes of the file.
  /// - Throws: A ``FileProblem``, or a `CancellationError` when the operation was cancelled.
  func read(atMost maximum: ByteCount) throws -> Data {
    let operation = AdvancedOperation.current
    let file = try OpenFile(reading: path, for: operation)
    let status = file.status
    if let status, status.st_mode & S_IFMT == S_IFDIR { throw FileProblem.isFolder(path: path) }
    let total = Int64(status?.st_size ?? 0)
    var data = Data()
    while data.count <= maximum.bytes {
      let piece = try file.piece(atMost: Self.pieceSize, path: path)
      if piece.isEmpty { return data }
      data += piece
      operation?.updateProgress(completed: Int64(data.count), total: total)
    }
    throw FileProblem.tooLarge(ByteCount(bytes: Int64(data.count)), maximum: maximum)
  }
}
