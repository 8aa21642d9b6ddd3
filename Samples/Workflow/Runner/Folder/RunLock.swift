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

  /// Takes the lock.
  ///
  /// - Returns: nil when another process, or another run in this one, has it.
  init?(_ folder: RunFolder) throws(RunFolderError) {
    do throws(SystemCallError) {
      file = try OpenFile(folder.lock, O_RDWR | O_CREAT)
      guard try Self.take(file) else { return nil }
      // For people who look for the process; nothing reads it.
      try file.truncate(to: 0)
      try file.write("\(getpid())\n".utf8)
    } catch {
      throw RunFolderError(path: folder.lock, problem: "\(error)")
    }
  }

  private static func take(_ file: OpenFile) throws(SystemCallError) -> Bool {
    // To see whether it is taken, others take it too, for a moment.
    for _ in 0..<5 {
      if try file.lockIfFree() { return true }
      usleep(10_000)
    }
    return false
  }

  /// Whether the lock is taken.
  static func isTaken(in folder: RunFolder) -> Bool {
    guard let file = try? OpenFile(folder.lock, O_RDONLY) else { return false }
    return (try? file.lockIfFree(isShared: true)) == false
  }
}
