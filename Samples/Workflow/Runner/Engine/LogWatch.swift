import Synchronization

/// Looks for new lines in the logs of the commands that run: one after another, twenty times a
/// second.
///
/// One task does it for all of an engine, so that a command of a millisecond costs no timer.
final class LogWatch: Sendable {
  private static let interval = Duration.milliseconds(50)

  private struct State {
    var logs: [ObjectIdentifier: WatchedLog] = [:]
    var isLooking = false
  }

  private let state = Mutex(State())

  /// Has a log read from now on.
  func add(_ log: WatchedLog) {
    let isFirst = state.withLock { state in
      state.logs[ObjectIdentifier(log)] = log
      defer { state.isLooking = true }
      return !state.isLooking
    }
    if isFirst { Task { await look() } }
  }

  /// A log isn't read any more, but for a look that has begun.
  func remove(_ log: WatchedLog) {
    _ = state.withLock { $0.logs.removeValue(forKey: ObjectIdentifier(log)) }
  }

  private func look() async {
    repeat {
      // Nothing cancels it.
      try? await Task.sleep(for: Self.interval)
    } while await readAll()
  }

  /// Returns false when no command ran any more.
  private func readAll() async -> Bool {
    let logs = state.withLock { state in
      state.isLooking = !state.logs.isEmpty
      return Array(state.logs.values)
    }
    for log in logs { await log.read() }
    return !logs.isEmpty
  }
}
