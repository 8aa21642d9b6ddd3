import CoreOperations
import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// A web server of a few lines on the loopback interface, which answers when the test says so.
final class LoopbackServer: Sendable {
  struct SystemError: Error {
    let call: String
    let number: Int32
  }

  private struct State {
    var held: Set<String> = []
    var answers: [String: [@Sendable () -> Void]] = [:]
    var asked: [String] = []
    var spectators: [(count: Int, wake: @Sendable () -> Void)] = []
  }

  private let listener: Int32
  private let port: UInt16
  private let state = Locked(State())

  /// Listens on a free port.
  init() throws {
    // The way to the loopback interface needs no proxy.
    if getenv("http_proxy") != nil { setenv("no_proxy", "127.0.0.1", 1) }
    #if canImport(Darwin)
    let stream = SOCK_STREAM
    #else
    let stream = Int32(SOCK_STREAM.rawValue)
    #endif
    listener = try Self.check("socket", socket(AF_INET, stream, 0))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    try withUnsafeMutablePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        try Self.check("bind", bind(listener, address, size))
        try Self.check("listen", listen(listener, 64))
        try Self.check("getsockname", getsockname(listener, address, &size))
      }
    }
    port = UInt16(bigEndian: address.sin_port)
    Foundation.Thread.detachNewThread { [weak self] in
      while true {
        let connection = accept(listener, nil, nil)
        if connection < 0 { return }
        guard let self else {
          close(connection)
          return
        }
        Foundation.Thread.detachNewThread { self.serve(connection) }
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  /// What a path's answer contains.
  static func body(of path: String) -> String { "contents of \(path)" }

  /// The address of a path.
  func address(of path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  /// Doesn't answer requests for a path until it is released.
  func hold(_ path: String) {
    state.withLock { _ = $0.held.insert(path) }
  }

  /// Answers requests for a path, those that wait and those that come.
  func release(_ path: String) {
    let answers = state.withLock { state in
      state.held.remove(path)
      return state.answers.removeValue(forKey: path) ?? []
    }
    for answer in answers { answer() }
  }

  /// The paths that were asked for, in order.
  var asked: [String] { state.withLock { $0.asked } }

  /// Suspends the task until so many requests have come.
  func asked(_ count: Int) async -> [String] {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.asked.count >= count { return true }
        state.spectators.append((count, { continuation.resume() }))
        return false
      }
      if isThere { continuation.resume() }
    }
    return asked
  }

  private func serve(_ connection: Int32) {
    guard let path = Self.readPath(from: connection) else {
      close(connection)
      return
    }
    let (isHeld, spectators) = state.withLock { state in
      state.asked.append(path)
      let count = state.asked.count
      let content = state.spectators.filter { $0.count <= count }
      state.spectators.removeAll { $0.count <= count }
      let isHeld = state.held.contains(path)
      if isHeld {
        state.answers[path, default: []].append { Self.answer(path, on: connection) }
      }
      return (isHeld, content)
    }
    for spectator in spectators { spectator.wake() }
    if !isHeld { Self.answer(path, on: connection) }
  }

  /// The second word of the request, once all of its head has come.
  private static func readPath(from connection: Int32) -> String? {
    var head: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
      let count = recv(connection, &buffer, buffer.count, 0)
      if count <= 0 { return nil }
      head += buffer.prefix(count)
    }
    let words = String(decoding: head, as: UTF8.self).split(separator: " ")
    return words.count > 1 ? String(words[1]) : nil
  }

  private static func answer(_ path: String, on connection: Int32) {
    let body = body(of: path)
    let head = "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
    let bytes = Array((head + body).utf8)
    // The client may have hung up, which is no reason to end the process.
    #if canImport(Darwin)
    var on: Int32 = 1
    setsockopt(connection, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    _ = send(connection, bytes, bytes.count, 0)
    #else
    _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    #endif
    close(connection)
  }

  @discardableResult
  private static func check(_ call: String, _ result: Int32) throws -> Int32 {
    if result < 0 { throw SystemError(call: call, number: errno) }
    return result
  }
}
