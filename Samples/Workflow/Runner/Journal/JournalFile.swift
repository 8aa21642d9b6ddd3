import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The journal of a run, open for writing; one process at a time has it open, by the run's lock.
///
/// Lines are appended, never changed. ``append(_:synced:)`` of a line that matters returns when the
/// line is on the disk; lines that several threads append at the same time are written and synced
/// together.
public final class JournalFile: Sendable {
  private struct Pending {
    var bytes: [UInt8] = []
    var checksum: UInt32
    /// How many records were appended.
    var count = 0
    /// Why nothing can be written any more.
    var failure: JournalError?
  }

  private struct Written {
    var length: Int
    /// How many records are in the file, and how many of those are on the disk.
    var writtenCount = 0
    var syncedCount = 0
  }

  /// Where it is.
  public let path: String
  /// What it contained when it was opened; nil if it was new.
  public let contents: JournalContents?

  private let file: OpenFile
  private let pending: Mutex<Pending>
  // Held while bytes are written; no code of others runs meanwhile.
  private let written: Mutex<Written>

  /// Opens a journal, and cuts a last line that was torn.
  ///
  /// - Parameter path: The file; made if there is none.
  /// - Throws: ``JournalError``.
  public init(_ path: String) throws(JournalError) {
    let bytes: [UInt8]
    do throws(SystemCallError) {
      file = try OpenFile(path, O_RDWR | O_CREAT | O_APPEND)
      bytes = try file.readAll()
    } catch {
      throw .inaccessible(path: path, reason: "\(error)")
    }
    self.path = path
    contents = try JournalContents.parse(bytes, path: path)
    let length = contents?.length ?? 0
    do throws(SystemCallError) {
      if length < bytes.count {
        try file.truncate(to: length)
        try file.synchronize()
      }
      // The file itself mustn't be lost either.
      if length == 0 { try OpenFile(path.folder, O_RDONLY).synchronizeFolder() }
    } catch {
      throw .inaccessible(path: path, reason: "\(error)")
    }
    pending = Mutex(Pending(checksum: contents?.checksum ?? 0))
    written = Mutex(Written(length: length))
  }

  /// Reads a journal that another process may be writing.
  ///
  /// - Parameter path: The file.
  /// - Returns: The contents; nil when there is no whole line, or no file.
  /// - Throws: ``JournalError``.
  public static func contents(of path: String) throws(JournalError) -> JournalContents? {
    let bytes: [UInt8]
    do throws(SystemCallError) {
      bytes = try OpenFile(reading: path).readAll()
    } catch {
      if error.isMissing { return nil }
      throw .inaccessible(path: path, reason: "\(error)")
    }
    return try JournalContents.parse(bytes, path: path)
  }

  /// Appends a record.
  ///
  /// Blocks its thread while the line is written.
  ///
  /// - Parameters:
  ///   - record: What is to be known from now on.
  ///   - synced: Whether to return only when it survives a loss of power. If not, it survives the
  ///     end of the process, and is on the disk before any record that comes later and is synced.
  /// - Throws: ``JournalError``; after one, each call throws the same.
  public func append(_ record: JournalRecord, synced: Bool) throws(JournalError) {
    let place = try pending.withLock { pending throws(JournalError) in
      if let failure = pending.failure { throw failure }
      do {
        pending.bytes += try JournalLine.bytes(of: record, checksum: &pending.checksum)
      } catch {
        throw .inaccessible(path: path, reason: "a record can't be encoded: \(error)")
      }
      pending.count += 1
      return pending.count
    }
    try written.withLock { written throws(JournalError) in
      try write(&written, upTo: place, synced: synced)
    }
  }

  /// Writes all that is pending, unless another thread has written up to the place before.
  private func write(
    _ written: inout Written,
    upTo place: Int,
    synced: Bool
  ) throws(JournalError) {
    guard (synced ? written.syncedCount : written.writtenCount) < place else { return }
    let (bytes, count, failure) = pending.withLock { pending in
      defer { pending.bytes.removeAll(keepingCapacity: true) }
      return (pending.bytes, pending.count, pending.failure)
    }
    if let failure { throw failure }
    do throws(SystemCallError) {
      if !bytes.isEmpty {
        try file.write(bytes)
        written.length += bytes.count
        written.writtenCount = count
      }
      guard synced else { return }
      try file.synchronize()
      written.syncedCount = written.writtenCount
    } catch {
      // What may be there of the lines is torn, or follows one that is.
      try? file.truncate(to: written.length)
      let failure = JournalError.inaccessible(path: path, reason: "\(error)")
      pending.withLock { $0.failure = failure }
      throw failure
    }
  }
}
