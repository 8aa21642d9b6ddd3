import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A temporary file that has no name any more, so that nothing has to remove it.
final class UnnamedFile: Sendable {
  /// The reason of the system why something failed.
  struct Problem: Error, CustomStringConvertible {
    let description = String(cString: strerror(errno))
  }

  private let descriptor: Int32

  init() throws(Problem) {
    let folder = FileManager.default.temporaryDirectory
    var path = Array(
      folder.appending(path: "earthquakes-XXXXXX").path(percentEncoded: false).utf8CString
    )
    descriptor = mkstemp(&path)
    if descriptor < 0 { throw Problem() }
    _ = unlink(path)
  }

  deinit { _ = close(descriptor) }

  /// The number of bytes that were appended.
  var count: Int64 { Int64(lseek(descriptor, 0, SEEK_CUR)) }

  /// Writes bytes behind those that are there.
  func append(_ data: Data) throws(Problem) {
    var rest = data[...]
    while !rest.isEmpty {
      let length = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if length < 0, errno != EINTR { throw Problem() }
      rest = rest.dropFirst(max(length, 0))
    }
  }

  /// The bytes, as pages of the file; they outlast the object.
  func contents() throws(Problem) -> Data {
    let length = Int(count)
    if length == 0 { return Data() }
    guard let pages = mmap(nil, length, PROT_READ, MAP_PRIVATE, descriptor, 0), pages != MAP_FAILED
    else {
      throw Problem()
    }
    return Data(bytesNoCopy: pages, count: length, deallocator: .custom { _ = munmap($0, $1) })
  }
}
