#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The lock of a run, from which other processes see that its steps are being run.
///
/// The system gives it back with the end of the process, however that ends.
final class RunLock: Sendable {
  private let file: OpenFile

  /// Takes the lock; nil when another process, or another run in this one, has it.
  ///
  /// - Parameters:
  ///   - folder: That of the run.
  ///   - pause: Waits a hundredth of a second.
  /// - Throws: ``RunFolderError`` if the file of the lock can't be used.
  init?(
    _ folder: RunFolder,
    pause: () -> Void = { usleep(10_000) }
  ) throws(RunFolderError) {
    do throws(SystemCallError) {
      file = try OpenFile(folder.lock, O_RDWR | O_CREAT)
      guard try Self.take(file, pause) else { return nil }
      // For people who look for the process, and for `isAbandoned`.
      try file.truncate(to: 0)
      try file.write("\(getpid())\n".utf8)
    } catch {
      throw RunFolderError(path: folder.lock, problem: "\(error)")
    }
  }

  private static func take(
    _ file: OpenFile,
    _ pause: () -> Void
  ) throws(SystemCallError) -> Bool {
    // To see whether it is taken, others take it too, for a moment; and what a killed runner was
    // about to start has it until that begins, which takes long where all processors are busy.
    var looks = 0
    while looks < 5 || looks < 500 && isAbandoned(file) {
      if try file.lockIfFree() { return true }
      pause()
      looks += 1
    }
    return false
  }

  /// Whether the process that took the lock has ended.
  private static func isAbandoned(_ file: OpenFile) -> Bool {
    guard let bytes = try? file.readAll(),
      let process = Int32(String(decoding: bytes, as: UTF8.self).prefix { $0.isNumber })
    else { return false }
    return kill(process, 0) != 0 && errno == ESRCH
  }

  /// Whether the lock is taken.
  static func isTaken(in folder: RunFolder) -> Bool {
    guard let file = try? OpenFile(folder.lock, O_RDONLY) else { return false }
    return (try? file.lockIfFree(isShared: true)) == false
  }
}
