#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Which file is at a place: to notice that it was removed, or that another one took its place.
///
/// What is written to an open file that has no name any more is lost with the program.
struct FileIdentity {
  private let path: String
  private let device: UInt64
  private let number: UInt64

  /// Notes the file that is at a place; nil if there is none.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.path = path
    device = UInt64(truncatingIfNeeded: status.st_dev)
    number = UInt64(truncatingIfNeeded: status.st_ino)
  }

  /// Whether the file is still there: one system call.
  var isThere: Bool {
    guard let now = FileIdentity(path) else { return false }
    return now.device == device && now.number == number
  }
}
