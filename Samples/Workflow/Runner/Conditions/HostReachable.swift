import AdvancedOperations

import class Foundation.Thread

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Holds when a host accepts connections: `reachable: example.org:443`.
///
/// A name that has several addresses is reachable when one of them is. All of it takes a few
/// seconds at most.
struct HostReachable: OperationCondition {
  let host: ConditionText
  let port: Int
  /// How long to wait for the name and for all connections together.
  var timeLimit = Duration.seconds(5)

  var name: String { "reachable" }

  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    do {
      let host = try host()
      if let problem = await problem(of: host) {
        return .failed(ConditionProblem("\(host):\(port) can't be reached: \(problem)"))
      }
      return .satisfied
    } catch {
      return .failed(error)
    }
  }

  /// Why the host can't be reached; nil if it can.
  private func problem(of host: String) async -> String? {
    let search = Connecting(host: host, port: port, timeLimit: timeLimit)
    let limit = timeLimit
    // The first answer counts: the system's search for a name has no time limit, and blocks its
    // thread.
    let answers = AsyncStream<String?>(bufferingPolicy: .bufferingOldest(1)) { continuation in
      Thread.detachNewThread { continuation.yield(search.run()) }
      let timer = Task {
        try await Task.sleep(for: limit)
        continuation.yield("no answer within \(limit.words)")
      }
      continuation.onTermination = { _ in timer.cancel() }
    }
    for await answer in answers { return answer }
    return "it was not waited for"
  }
}

/// One try to connect to a host, on a thread of its own.
private struct Connecting: Sendable {
  let host: String
  let port: Int
  let timeLimit: Duration

  /// Why there is no connection; nil if there was one.
  ///
  /// Blocks its thread.
  func run() -> String? {
    var hints = addrinfo()
    #if canImport(Glibc)
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
    hints.ai_socktype = SOCK_STREAM
    #endif
    var first: UnsafeMutablePointer<addrinfo>?
    let result = getaddrinfo(host, "\(port)", &hints, &first)
    guard result == 0 else { return String(cString: gai_strerror(result)) }
    defer { freeaddrinfo(first) }
    let clock = ContinuousClock()
    let deadline = clock.now + timeLimit
    var problem = "it has no address"
    var next = first
    while let address = next?.pointee {
      let rest = clock.now.duration(to: deadline)
      guard rest > .zero else { return problem }
      guard let failure = connect(to: address, within: rest) else { return nil }
      problem = failure
      next = address.ai_next
    }
    return problem
  }

  /// Why there is no connection to an address; nil if there was one.
  private func connect(to address: addrinfo, within limit: Duration) -> String? {
    let descriptor = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
    guard descriptor >= 0 else { return "\(SystemCallError())" }
    defer { close(descriptor) }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    #if canImport(Glibc)
    let result = Glibc.connect(descriptor, address.ai_addr, address.ai_addrlen)
    #elseif canImport(Musl)
    let result = Musl.connect(descriptor, address.ai_addr, address.ai_addrlen)
    #else
    let result = Darwin.connect(descriptor, address.ai_addr, address.ai_addrlen)
    #endif
    if result == 0 { return nil }
    guard errno == EINPROGRESS else { return "\(SystemCallError())" }
    var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    let milliseconds = Int32(clamping: limit.components.seconds * 1_000 + 1)
    guard Poll.wait(&poll, milliseconds) > 0 else { return "no answer" }
    var code: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
    return code == 0 ? nil : "\(SystemCallError(code: code))"
  }
}

private enum Poll {
  static func wait(_ descriptor: inout pollfd, _ milliseconds: Int32) -> Int32 {
    var result: Int32
    repeat { result = poll(&descriptor, 1, milliseconds) } while result < 0 && errno == EINTR
    return result
  }
}
