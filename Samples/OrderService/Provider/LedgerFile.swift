import Foundation
import ServiceSupport

/// The file of a ledger, which one program has at a time.
///
/// The lock is the kernel's, on the open file: it ends with the program, however that ends. Lines are
/// appended by the kernel as well, so that none is written over another.
final class LedgerFile {
  private let handle: FileHandle

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
    entries = try JSONLines.values(of: Charge.self, in: data)
    let whole = JSONLines.whole(data).count
    if whole < data.count { try handle.truncate(atOffset: UInt64(whole)) }
  }

  /// Appends a line.
  func write(_ charge: Charge) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    try handle.write(contentsOf: encoder.encode(charge) + [UInt8(ascii: "\n")])
  }

  private static func problem(_ path: String) -> any Error {
    let reason = String(cString: strerror(errno))
    return CocoaError(
      .fileReadUnknown,
      userInfo: [NSFilePathErrorKey: path, NSLocalizedDescriptionKey: reason]
    )
  }
}
