#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// What stands at a path, behind links; equal if both are the same file, under whatever names.
struct FileStatus: Equatable {
  private let status: stat

  /// What stands at a path; nil if there is nothing.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.status = status
  }

  var isFile: Bool { status.st_mode & S_IFMT == S_IFREG }
  var isFolder: Bool { status.st_mode & S_IFMT == S_IFDIR }

  static func == (one: FileStatus, other: FileStatus) -> Bool {
    one.status.st_dev == other.status.st_dev && one.status.st_ino == other.status.st_ino
  }
}
