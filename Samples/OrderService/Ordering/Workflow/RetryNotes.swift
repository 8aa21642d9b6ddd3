import Synchronization

/// The repetitions of one order's requests: how many there were, and a stream of them.
final class RetryNotes: Sendable {
  private struct State {
    var attempts: [String: Int] = [:]
    var listeners: [Int: AsyncStream<OrderRetry>.Continuation] = [:]
    var nextListener = 0
    var isOver = false
  }

  private let state = Mutex(State())

  /// The number of the attempt of each step that was repeated.
  var attempts: [String: Int] { state.withLock { $0.attempts } }

  /// The repetitions from now on, up to the end of the order.
  ///
  /// A slow reader misses the oldest.
  var stream: AsyncStream<OrderRetry> {
    AsyncStream(bufferingPolicy: .bufferingNewest(16)) { continuation in
      let listener = state.withLock { state -> Int? in
        if state.isOver { return nil }
        state.nextListener += 1
        state.listeners[state.nextListener] = continuation
        return state.nextListener
      }
      guard let listener else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { _ = $0.listeners.removeValue(forKey: listener) }
      }
    }
  }

  /// Notes a repetition.
  func note(_ step: String, after delay: Duration, because error: any Error) {
    let (attempt, listeners) = state.withLock { state in
      state.attempts[step, default: 1] += 1
      return (state.attempts[step, default: 1], Array(state.listeners.values))
    }
    let retry = OrderRetry(step: step, attempt: attempt, delay: delay, reason: "\(error)")
    for listener in listeners { listener.yield(retry) }
  }

  /// The order is over here.
  func end() {
    let listeners = state.withLock { state in
      state.isOver = true
      return Array(state.listeners.values)
    }
    for listener in listeners { listener.finish() }
  }
}
