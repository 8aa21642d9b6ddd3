import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// The name of the system's function is that of a method, which hides it.
private let sendBytes = send

/// A tiny HTTP server on a free port of this machine, which answers one connection at a time.
final class LoopbackServer: Sendable {
  enum Reply: Sendable {
    /// Sends the bytes and closes the connection.
    case bytes(String)

    /// Sends the bytes, and then other bytes until the client closes the connection.
    case endless(String)

    /// Says nothing until the client closes the connection.
    case silence
  }

  let port: UInt16

  /// The first line of every request that arrived.
  let requests: AsyncStream<String>

  private let listener: Int32

  /// Starts to listen; `isListening: false` reserves a port at which nobody answers.
  init(isListening: Bool = true, reply: @escaping @Sendable (_ request: String) -> Reply) throws {
    let listener = try Self.check(socket(AF_INET, Self.stream, 0), "socket")
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    try withUnsafeMutablePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        _ = try Self.check(bind(listener, pointer, size), "bind")
        _ = try Self.check(getsockname(listener, pointer, &size), "getsockname")
      }
    }
    port = UInt16(bigEndian: address.sin_port)
    self.listener = listener
    let (requests, continuation) = AsyncStream<String>.makeStream()
    self.requests = requests
    guard isListening else { return }
    _ = try Self.check(listen(listener, 8), "listen")
    Thread.detachNewThread {
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { break }
        Self.serve(connection, continuation, reply)
      }
      continuation.finish()
    }
  }

  deinit {
    _ = shutdown(listener, Int32(SHUT_RDWR))
    _ = close(listener)
  }

  func url(_ path: String) throws -> URL {
    guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else {
      throw CocoaError(.featureUnsupported)
    }
    return url
  }

  private static func serve(
    _ connection: Int32,
    _ continuation: AsyncStream<String>.Continuation,
    _ reply: (String) -> Reply
  ) {
    defer { _ = close(connection) }
    var request = ""
    while !request.contains("\r\n\r\n") {
      guard let more = read(connection) else { return }
      request += more
    }
    let line = String(request.prefix { !$0.isNewline })
    continuation.yield(line)
    switch reply(line) {
    case .bytes(let text):
      guard send(text, to: connection) else { return }
      _ = shutdown(connection, Int32(SHUT_WR))
    case .endless(let text):
      guard send(text, to: connection) else { return }
      while send(String(repeating: "x", count: 65_536), to: connection) {}
      return
    case .silence:
      break
    }
    while read(connection) != nil {}
  }

  /// Returns whether the client has taken all of it.
  private static func send(_ text: String, to connection: Int32) -> Bool {
    let bytes = Array(text.utf8)
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        sendBytes(connection, $0.baseAddress, $0.count, sendFlags)
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  private static func read(_ connection: Int32) -> String? {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = recv(connection, &buffer, buffer.count, 0)
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
  }

  private static func check(_ result: Int32, _ name: String) throws -> Int32 {
    guard result >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    return result
  }

  #if canImport(Glibc)
  private static let stream = Int32(SOCK_STREAM.rawValue)
  #else
  private static let stream = SOCK_STREAM
  #endif

  #if canImport(Darwin)
  private static let sendFlags: Int32 = 0
  #else
  // A client that has gone is no reason to end the process with a signal.
  private static let sendFlags = Int32(MSG_NOSIGNAL)
  #endif
}
