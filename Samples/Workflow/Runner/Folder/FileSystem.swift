#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// What is known of the volume that has a file or a folder.
enum FileSystem {
  /// Whether it has no room left; false if that isn't known.
  static func isFull(at path: String) -> Bool {
    var status = statvfs()
    guard statvfs(path, &status) == 0, status.f_blocks > 0 else { return false }
    return status.f_bavail == 0
  }
}
