import Dispatch
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
/// Lines are appended, never changed. ``append(_:synced:)`` and ``record(_:isUrgent:)`` of a line
/// that matters return when the line is on the disk; lines that are appended at the same time are
/// written and synced together. While the disk is waited for, other lines can be written.
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
    /// How many records are in the file.
    var count = 0
  }

  private struct Waiter {
    let place: Int
    let continuation: CheckedContinuation<Result<Void, JournalError>, Never>
  }

  /// For how long a line that holds nothing up waits for others to share its sync.
  private static let pause = DispatchTimeInterval.milliseconds(5)

  /// Where it is.
  public let path: String
  /// What it contained when it was opened; nil if it was new.
  public let contents: JournalContents?

  private let file: OpenFile
  private let disk: Disk
  private let pending: Mutex<Pending>
  // Held while bytes are written; no code of others runs meanwhile.
  private let written: Mutex<Written>
  /// How many records are on the disk; held while the disk is waited for.
  private let syncedCount = Mutex(0)
  private let schedule = Mutex(SyncSchedule<Waiter>())
  /// Has the thread that waits for the disk in place of tasks.
  private let queue = DispatchQueue(label: "journal of a run")

  /// Opens a journal, and cuts a last line that was torn.
  ///
  /// - Parameter path: The file; made if there is none.
  /// - Throws: ``JournalError``.
  public convenience init(_ path: String) throws(JournalError) { try self.init(path, disk: Disk()) }

  /// The same with other calls for its lines.
  init(_ path: String, disk: Disk) throws(JournalError) {
    self.disk = disk
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
    let place = try add(record)
    if synced { try synchronize(upTo: place) } else { _ = try write(upTo: place) }
  }

  /// Appends a record, and returns when it survives a loss of power.
  ///
  /// No thread is blocked: the task is suspended until a sync that others may share has ended.
  ///
  /// - Parameters:
  ///   - record: What is to be known from now on.
  ///   - isUrgent: Whether something can't go on before this returns; if not, the sync begins up to
  ///     five milliseconds later, so that more records share it.
  /// - Throws: ``JournalError``; after one, each call throws the same.
  public func record(_ record: JournalRecord, isUrgent: Bool) async throws(JournalError) {
    let place = try add(record)
    let result = await withCheckedContinuation { continuation in
      let waiter = Waiter(place: place, continuation: continuation)
      perform(schedule.withLock { $0.waits(waiter, isUrgent: isUrgent) })
    }
    try result.get()
  }

  private func perform(_ action: SyncSchedule<Waiter>.Action) {
    switch action {
    case .none: break
    case .sync: queue.async { self.synchronizeForWaiters() }
    case .pause:
      queue.asyncAfter(deadline: .now() + Self.pause) {
        let action = self.schedule.withLock { $0.pauseEnded() }
        if action == .sync { self.synchronizeForWaiters() }
      }
    }
  }

  private func synchronizeForWaiters() {
    let waiters = schedule.withLock { $0.syncBegins() }
    let last = waiters.lazy.map(\.place).max() ?? 0
    let result = Result { () throws(JournalError) in try synchronize(upTo: last) }
    for waiter in waiters { waiter.continuation.resume(returning: result) }
    perform(schedule.withLock { $0.syncEnded() })
  }

  /// Makes a line of a record, to be written with the next ones; returns its place among them.
  private func add(_ record: JournalRecord) throws(JournalError) -> Int {
    let json = JournalLine.JSON(record.json.utf8)
    return try pending.withLock { pending throws(JournalError) in
      if let failure = pending.failure { throw failure }
      JournalLine.append(json, to: &pending.bytes, checksum: &pending.checksum)
      pending.count += 1
      return pending.count
    }
  }

  /// Writes all that is pending, unless another thread has written up to the place before; returns
  /// how many records are in the file.
  private func write(upTo place: Int) throws(JournalError) -> Int {
    try written.withLock { written throws(JournalError) in
      if written.count >= place { return written.count }
      let (bytes, count, failure) = pending.withLock { pending in
        defer { pending.bytes.removeAll(keepingCapacity: true) }
        return (pending.bytes, pending.count, pending.failure)
      }
      if let failure { throw failure }
      do throws(SystemCallError) {
        try disk.write(file, bytes)
      } catch {
        // What may be there of the lines is torn, or follows one that is.
        try? file.truncate(to: written.length)
        throw fails(error)
      }
      written.length += bytes.count
      written.count = count
      return count
    }
  }

  /// Returns when all up to a place is on the disk.
  private func synchronize(upTo place: Int) throws(JournalError) {
    try syncedCount.withLock { syncedCount throws(JournalError) in
      if syncedCount >= place { return }
      // The system tells a failure to write to the disk once: the next sync would succeed although
      // the lines of the one before are lost.
      if let failure = pending.withLock({ $0.failure }) { throw failure }
      let count = try write(upTo: place)
      do throws(SystemCallError) {
        try disk.synchronize(file)
      } catch {
        // It isn't known what of the lines is on the disk.
        throw fails(error)
      }
      syncedCount = count
    }
  }

  /// Nothing can be written any more; returns the reason.
  private func fails(_ error: SystemCallError) -> JournalError {
    pending.withLock { pending in
      let failure = pending.failure ?? .inaccessible(path: path, reason: "\(error)")
      pending.failure = failure
      return failure
    }
  }
}
