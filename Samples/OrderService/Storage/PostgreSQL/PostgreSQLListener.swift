#if PostgreSQL
import Foundation
import Synchronization

/// Hears `NOTIFY` on a connection and a thread of its own, and wakes what waits.
///
/// Nothing is heard while the connection is lost; when it is back, all that wait are woken.
final class PostgreSQLListener: Sendable {
  /// The channel on which the ends of orders are announced, and cancels that were noted.
  static let channel = "orders_ended"

  /// What waits, shared with the thread, which must not keep the listener.
  private let waiting = Waiting()

  /// Begins to listen.
  init(url: String) {
    let thread = Thread { [waiting] in waiting.listen(to: url) }
    thread.name = "PostgreSQL listener"
    thread.start()
  }

  deinit { waiting.close() }

  /// A stream with an element whenever a name was announced, or may have been.
  func signals(for name: String) -> AsyncStream<Void> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let number = waiting.add(name, continuation)
      continuation.onTermination = { [waiting] _ in waiting.remove(number) }
    }
  }
}

private final class Waiting: Sendable {
  private struct State {
    var waiters: [Int: (name: String, continuation: AsyncStream<Void>.Continuation)] = [:]
    var last = 0
    var isClosed = false
  }

  private let state = Mutex(State())

  func add(_ name: String, _ continuation: AsyncStream<Void>.Continuation) -> Int {
    state.withLock { state in
      state.last += 1
      state.waiters[state.last] = (name, continuation)
      return state.last
    }
  }

  func remove(_ number: Int) { state.withLock { _ = $0.waiters.removeValue(forKey: number) } }

  func close() { state.withLock { $0.isClosed = true } }

  /// Wakes those that wait for one of some names; all of them without names.
  private func wake(_ names: Set<String>?) {
    let continuations = state.withLock { state in
      state.waiters.values.filter { names?.contains($0.name) ?? true }.map(\.continuation)
    }
    for continuation in continuations { continuation.yield() }
  }

  private var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Listens until the listener goes away; connects again when the connection was lost.
  func listen(to url: String) {
    let connection = PostgreSQLConnection(url: url)
    while !isClosed {
      do {
        try connection.open()
        try connection.execute("LISTEN \(PostgreSQLListener.channel)")
        wake(nil)
        while !isClosed {
          let names = try connection.notifications()
          if !names.isEmpty { wake(Set(names)) }
          guard let socket = connection.socket else { break }
          var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
          _ = poll(&descriptor, 1, 500)
        }
      } catch {
        connection.close()
        Thread.sleep(forTimeInterval: 0.5)
      }
    }
  }
}
#endif
