import CoreOperations

/// What happened, in order.
final class Log<Entry: Sendable>: Sendable {
  private let list = Locked<[Entry]>([])

  var entries: [Entry] { list.withLock { $0 } }
  var count: Int { list.withLock { $0.count } }

  func add(_ entry: Entry) { list.withLock { $0.append(entry) } }
}

/// A number that many threads change, and the largest value that it ever had.
final class Tally: Sendable {
  private let state = Locked((now: 0, peak: 0))

  var now: Int { state.withLock { $0.now } }
  var peak: Int { state.withLock { $0.peak } }

  /// Returns the value before the change.
  @discardableResult
  func add(_ change: Int = 1) -> Int {
    state.withLock { state in
      defer {
        state.now += change
        state.peak = max(state.peak, state.now)
      }
      return state.now
    }
  }
}
