import Dispatch
import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Answers questions about steps while a run goes on: a Unix domain socket in the run's folder.
///
/// A question is the name of a step and a line feed; the answer is text, up to the end, and empty if
/// there is no such step.
final class ExplainSocket: Sendable {
  static let name = "explain.socket"
  /// A question is no longer: the names of steps are short.
  static let longestQuestion = 4_096

  private let descriptor: Int32
  private let path: String
  private let isOpen = Mutex(true)

  /// Begins to answer.
  ///
  /// - Returns: nil if the system doesn't let it: a run without it is better than none.
  init?(in folder: String, answer: @escaping @Sendable (String) -> String) {
    path = "\(folder)/\(Self.name)"
    if let other = Self.connection(in: folder) {
      // Another process runs it, and this one will be refused.
      _ = close(other)
      return nil
    }
    // Of a run that was killed.
    _ = unlink(path)
    let descriptor = Self.withAddress(in: folder) { address, length in
      Self.open { bind($0, address, length) }
    }
    guard let descriptor, listen(descriptor, 16) == 0 else { return nil }
    _ = chmod(path, 0o600)
    self.descriptor = descriptor
    // A thread of its own, as it waits most of the time.
    Thread.detachNewThread {
      while true {
        let client = accept(descriptor, nil, nil)
        if client < 0 {
          if errno == EINTR || errno == ECONNABORTED { continue }
          break
        }
        DispatchQueue.global().async {
          Self.answer(client, answer)
          _ = close(client)
        }
      }
      _ = close(descriptor)
    }
  }

  /// Ends to answer.
  func end() {
    let isFirst = isOpen.withLock { isOpen in
      defer { isOpen = false }
      return isOpen
    }
    if !isFirst { return }
    _ = unlink(path)
    // Ends the wait of the thread, which closes it.
    _ = shutdown(descriptor, Int32(SHUT_RDWR))
  }

  private static func answer(_ client: Int32, _ answer: (String) -> String) {
    // Somebody may connect and say nothing.
    setPatience(of: client)
    var question: [UInt8] = []
    while question.last != UInt8(ascii: "\n"), question.count < longestQuestion {
      var byte: UInt8 = 0
      if read(client, &byte, 1) != 1 { return }
      question.append(byte)
    }
    let step = String(decoding: question.dropLast(), as: UTF8.self)
    send(Array(answer(step).utf8), to: client)
  }

  /// How long reading and writing wait for the other side.
  private static func setPatience(of descriptor: Int32) {
    var patience = timeval(tv_sec: 5, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    _ = setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
    _ = setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, size)
  }

  private static func send(_ bytes: [UInt8], to client: Int32) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(client, $0.baseAddress, $0.count) }
      if count <= 0 {
        if count < 0, errno == EINTR { continue }
        return
      }
      rest = rest.dropFirst(count)
    }
  }

  // MARK: Asking

  /// What the program that runs it says of a step.
  ///
  /// - Returns: Empty if there is no such step; nil if no program answers, or not within seconds: it
  ///   may have been stopped.
  static func ask(_ step: String, in folder: String) -> String? {
    guard let descriptor = connection(in: folder) else { return nil }
    defer { _ = close(descriptor) }
    setPatience(of: descriptor)
    send(Array("\(step)\n".utf8), to: descriptor)
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      if count < 0, answer.isEmpty { return nil }
      if count <= 0 { break }
      answer += buffer[..<count]
    }
    return String(decoding: answer, as: UTF8.self)
  }

  private static func connection(in folder: String) -> Int32? {
    withAddress(in: folder) { address, length in open { connect($0, address, length) } }
  }

  /// A socket, of which that call was right.
  private static func open(_ call: (Int32) -> Int32) -> Int32? {
    #if canImport(Glibc)
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #else
    let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
    if descriptor < 0 { return nil }
    // Steps mustn't keep it.
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    if call(descriptor) == 0 { return descriptor }
    _ = close(descriptor)
    return nil
  }

  /// The address of the socket; one of a path that is too long goes through a short link.
  private static func withAddress<Result>(
    in folder: String,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result?
  ) -> Result? {
    let path = "\(folder)/\(name)"
    if let result = address(of: path, body) { return result.value }
    let short = "/tmp/workflow-\(UUID().uuidString.prefix(13))"
    let absolute = URL(filePath: folder).standardizedFileURL.path(percentEncoded: false)
    guard symlink(absolute, short) == 0 else { return nil }
    defer { _ = unlink(short) }
    return address(of: "\(short)/\(name)", body)?.value
  }

  private struct Answer<Value> { var value: Value? }

  /// - Returns: nil if the path is too long.
  private static func address<Result>(
    of path: String,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result?
  ) -> Answer<Result>? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let capacity = MemoryLayout.size(ofValue: address.sun_path)
    if bytes.count >= capacity { return nil }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let length = socklen_t(MemoryLayout<sockaddr_un>.size)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Answer(value: body($0, length))
      }
    }
  }
}
