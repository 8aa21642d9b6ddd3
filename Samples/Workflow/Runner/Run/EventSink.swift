import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Passes on events in the order in which they came, one at a time, and writes them to a file.
///
/// The thread that brings an event passes it on, with those that other threads bring meanwhile: so
/// nothing waits for a slow receiver, and no code of others runs under a lock. Printed lines, of
/// which there may be more than memory, wait when too many are ahead of them.
final class EventSink: Sendable {
  /// So many events may wait to be passed on before one who brings a printed line waits as well.
  private static let limit = 1_024

  private struct State {
    var waiting: [RunEvent] = []
    var isPassingOn = false
    var file: OpenFile?
    /// Why the file isn't complete.
    var failure: SystemCallError?
  }

  private let state = Mutex(State())
  private let report: @Sendable (RunEvent) -> Void

  init(_ report: @escaping @Sendable (RunEvent) -> Void) { self.report = report }

  /// Has events written to a file as well.
  func write(to file: OpenFile) { state.withLock { $0.file = file } }

  /// Why the file isn't complete; nil if it is.
  var failure: String? { state.withLock { $0.failure.map { "\($0)" } } }

  /// Passes on an event, or leaves it to the thread that is passing on others.
  func send(_ event: RunEvent) {
    if case .printed = event.kind {
      // As slow as what receives them.
      while isFull { usleep(1_000) }
    }
    let isTaken = state.withLock { state in
      state.waiting.append(event)
      defer { state.isPassingOn = true }
      return state.isPassingOn
    }
    if isTaken { return }
    while let (events, file) = next() {
      if let file { write(events, to: file) }
      for event in events { report(event) }
    }
  }

  private var isFull: Bool {
    state.withLock { $0.isPassingOn && $0.waiting.count >= Self.limit }
  }

  private func next() -> ([RunEvent], OpenFile?)? {
    state.withLock { state in
      if state.waiting.isEmpty {
        state.isPassingOn = false
        return nil
      }
      defer { state.waiting = [] }
      return (state.waiting, state.file)
    }
  }

  /// The lines of steps are in their logs; the file is for those who look later, and may fail.
  private func write(_ events: [RunEvent], to file: OpenFile) {
    var bytes: [UInt8] = []
    for event in events {
      if case .printed = event.kind { continue }
      bytes += event.jsonLine.utf8
      bytes.append(UInt8(ascii: "\n"))
    }
    if bytes.isEmpty { return }
    do throws(SystemCallError) {
      try file.write(bytes)
    } catch {
      state.withLock { $0.failure = $0.failure ?? error }
    }
  }
}
