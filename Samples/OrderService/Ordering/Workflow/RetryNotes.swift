import Synchronization

/// The repetitions of one order's requests: the last of each kind, and a stream of all.
final class RetryNotes: Sendable {
  private struct State {
    var attempts: [String: Int] = [:]
    /// Those of requests that haven't succeeded yet.
    var latest: [String: OrderRetry] = [:]
    var listeners: [Int: AsyncStream<OrderRetry>.Continuation] = [:]
    var nextListener = 0
    var isOver = false
  }

  private let state = Mutex(State())

  /// The last repetition of each request that hasn't succeeded yet, by ``OrderRetry/step``.
  var latest: [String: OrderRetry] { state.withLock { $0.latest } }

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
    let reason = "\(error)"
    let (retry, listeners) = state.withLock { state in
      let attempt = state.attempts[step, default: 1] + 1
      let retry = OrderRetry(step: step, attempt: attempt, delay: delay, reason: reason)
      state.attempts[step] = attempt
      state.latest[step] = retry
      return (retry, Array(state.listeners.values))
    }
    for listener in listeners { listener.yield(retry) }
  }

  /// A request has succeeded, or isn't repeated anymore.
  func isOver(_ step: String) { state.withLock { _ = $0.latest.removeValue(forKey: step) } }

  /// The order is over here.
  func end() {
    let listeners = state.withLock { state in
      state.isOver = true
      return Array(state.listeners.values)
    }
    for listener in listeners { listener.finish() }
  }
}
