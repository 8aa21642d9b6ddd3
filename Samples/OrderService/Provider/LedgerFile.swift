import Foundation
import ServiceSupport

/// The file of a ledger, which one program has at a time.
///
/// The lock is the kernel's, on the open file: it ends with the program, however that ends. Lines are
/// appended by the kernel as well, so that none is written over another.
///
/// A line is written whole or not at all: what a full disk has left of one is cut off again, so that
/// the next one doesn't stand behind it.
final class LedgerFile {
  private let path: String
  private let handle: FileHandle
  /// Where the lines that are whole end.
  private var length: UInt64
  /// Whether something that is no line may stand behind them.
  private var isTorn = false

  /// The lines that are in it.
  let entries: [Charge]

  /// Opens a file, and creates it if it is missing; what a crash has cut off is dropped.
  init(path: String) throws {
    let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw Self.problem(path) }
    handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    // Before it is read: another program may be about to write.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw errno == EWOULDBLOCK ? LedgerInUse(path: path) : Self.problem(path)
    }
    let data = try handle.readToEnd() ?? Data()
    let reading = JSONLines.read(Charge.self, in: data)
    if !reading.damagedLines.isEmpty {
      throw LedgerDamaged(path: path, lines: reading.damagedLines)
    }
    entries = reading.values
    self.path = path
    length = UInt64(JSONLines.whole(data).count)
    isTorn = length < data.count
    try cutOff()
  }

  /// Appends a line.
  ///
  /// - Throws: ``LedgerNotWritten``; the file is as it was then.
  func write(_ charge: Charge) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let line = try encoder.encode(charge) + [UInt8(ascii: "\n")]
    // A line in a file without a name would be lost.
    if !isThere {
      let reason = "it was removed or replaced; start the provider again"
      throw LedgerNotWritten(path: path, reason: reason)
    }
    do {
      try cutOff()
      isTorn = true
      try handle.write(contentsOf: line)
      isTorn = false
      length += UInt64(line.count)
    } catch {
      // If that fails as well, nothing is written before it has been done.
      try? cutOff()
      throw LedgerNotWritten(path: path, reason: Self.reason(error))
    }
  }

  /// Whether the file that is open is the one at its place.
  private var isThere: Bool {
    var (here, open) = (stat(), stat())
    return stat(path, &here) == 0 && fstat(handle.fileDescriptor, &open) == 0
      && here.st_dev == open.st_dev && here.st_ino == open.st_ino
  }

  private func cutOff() throws {
    if isTorn { try handle.truncate(atOffset: length) }
    isTorn = false
  }

  private static func reason(_ error: any Error) -> String {
    let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
    guard let code = underlying?.code, underlying?.domain == NSPOSIXErrorDomain else {
      return "\(error)"
    }
    return String(cString: strerror(Int32(code)))
  }

  private static func problem(_ path: String) -> any Error {
    LedgerNotOpened(path: path, reason: String(cString: strerror(errno)))
  }
}
