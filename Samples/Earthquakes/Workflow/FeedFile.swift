import AdvancedOperations
import Foundation

/// A file with a feed, which is read in pieces: a cancel is noticed between two of them.
struct FeedFile: Sendable {
  let path: String

  /// How many bytes are read at a time.
  static let pieceSize = 1 << 18

  /// How large the file says it is; pipes say 0.
  func size() throws(FileProblem) -> ByteCount {
    ByteCount(bytes: (try attributes()[.size] as? NSNumber)?.int64Value ?? 0)
  }

  /// Reads the whole file, and reports the progress of the operation that it is called from.
  ///
  /// - Parameter maximum: How much there may be, whatever the file says about its size.
  /// - Returns: The bytes of the file.
  /// - Throws: A ``FileProblem``, or a `CancellationError` when the operation was cancelled.
  func read(atMost maximum: ByteCount) throws -> Data {
    let operation = AdvancedOperation.current
    if try attributes()[.type] as? FileAttributeType == .typeDirectory {
      throw FileProblem.isFolder(path: path)
    }
    let total = try size().bytes
    var data = Data()
    do {
      let handle = try FileHandle(forReadingFrom: URL(filePath: path))
      defer { try? handle.close() }
      while let piece = try handle.read(upToCount: Self.pieceSize), !piece.isEmpty {
        if operation?.isCancelled == true { throw CancellationError() }
        data += piece
        if data.count > maximum.bytes { break }
        operation?.updateProgress(completed: Int64(data.count), total: total)
      }
    } catch let error as CancellationError {
      throw error
    } catch {
      throw FileProblem.cannotRead(path: path, reason: Self.reason(error))
    }
    let size = ByteCount(bytes: Int64(data.count))
    if size > maximum { throw FileProblem.tooLarge(size, maximum: maximum) }
    return data
  }

  private func attributes() throws(FileProblem) -> [FileAttributeKey: Any] {
    // Of what a symbolic link leads to, not of the link.
    let target = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
    do {
      return try FileManager.default.attributesOfItem(atPath: target)
    } catch {
      throw .cannotRead(path: path, reason: Self.reason(error))
    }
  }

  /// The system's reason, without the sentence around it.
  static func reason(_ error: any Error) -> String {
    let error = error as NSError
    let cause = (error.userInfo[NSUnderlyingErrorKey] as? NSError) ?? error
    let text =
      cause.domain == NSPOSIXErrorDomain
      ? String(cString: strerror(Int32(cause.code))) : error.localizedDescription
    return text.hasSuffix(".") ? String(text.dropLast()) : text
  }
}
