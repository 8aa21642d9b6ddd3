import AdvancedOperations
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// An open file, pipe or device, whose every wait ends when the operation is cancelled.
///
/// Opening, reading and writing a pipe takes until the program at its other end does its part,
/// which may be never. So nothing here blocks but `poll`, which comes back ten times a second to
/// see whether the result is still wanted.
struct OpenFile: ~Copyable {
  private static let interval: Int32 = 100

  private let descriptor: Int32
  private let operation: AdvancedOperation?

  /// Opens what is to be read; a pipe need not have a writer yet.
  init(reading path: String, for operation: AdvancedOperation?) throws(FileProblem) {
    descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
    self.operation = operation
    if descriptor < 0 { throw .cannotRead(path: path, reason: Self.reason()) }
  }

  /// Opens what is to be written and is there; waits until a pipe has a reader.
  ///
  /// - Throws: A ``FileProblem``, or a `CancellationError` when the operation was cancelled.
  init(writing path: String, for operation: AdvancedOperation?) throws {
    self.operation = operation
    while true {
      let file = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
      if file >= 0 {
        descriptor = file
        return
      }
      let code = errno
      // That is what the system says of a pipe without a reader.
      guard code == EINTR || code == ENXIO && Self.isPipe(path) else {
        throw FileProblem.cannotWrite(path: path, reason: Self.reason(code))
      }
      try Self.check(operation)
      _ = poll(nil, 0, Self.interval)
    }
  }

  deinit { if descriptor >= 0 { _ = close(descriptor) } }

  /// What is known about the file; `nil` if the system doesn't say.
  var status: stat? {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? status : nil
  }

  /// Reads what is there, or waits until there is something.
  ///
  /// - Returns: Up to so many bytes; none at the end.
  /// - Throws: A `CancellationError`, or a ``FileProblem`` that names the path.
  func piece(atMost count: Int, path: String) throws -> Data {
    var piece = Data(count: count)
    while true {
      try wait(until: POLLIN)
      let length = piece.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      let code = errno
      if length >= 0 { return piece.prefix(length) }
      guard code == EAGAIN || code == EINTR else {
        throw FileProblem.cannotRead(path: path, reason: Self.reason(code))
      }
    }
  }

  /// Writes everything.
  ///
  /// - Throws: A `CancellationError`, or a ``FileProblem`` that names the path.
  func append(_ bytes: Data, path: String) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      try wait(until: POLLOUT)
      let length = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      let code = errno
      if length >= 0 {
        rest = rest.dropFirst(length)
      } else if code != EAGAIN, code != EINTR {
        throw FileProblem.cannotWrite(path: path, reason: Self.reason(code))
      }
    }
  }

  private func wait(until event: Int32) throws {
    var question = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    repeat { try Self.check(operation) } while poll(&question, 1, Self.interval) <= 0
  }
}

extension OpenFile {
  private static func isPipe(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
  }

  private static func check(_ operation: AdvancedOperation?) throws {
    if operation?.isCancelled == true { throw CancellationError() }
  }

  /// What the system says of an error, which is that of the last call unless another is given.
  static func reason(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }
}
