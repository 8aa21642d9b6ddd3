import AdvancedOperations
import Synchronization

/// What the queue waits for, which all pages and requests share.
///
/// With thousands of orders, a look takes a good part of a second. However often the explanation is
/// asked for, looks take a twentieth of one processor: the next one is due when twenty times as long has
/// passed as the last one took.
final class SharedExplanation: Sendable {
  private struct State {
    var last: (text: String, expires: ContinuousClock.Instant)?
    /// Whether a caller looks at the queue at this moment.
    var isLooking = false
  }

  /// The number of causes that get words; the others are counted.
  static let limit = 8

  private let look: @Sendable () -> String
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  /// Creates an explanation.
  ///
  /// - Parameters:
  ///   - now: The time.
  ///   - look: Looks at the queue.
  init(
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    _ look: @escaping @Sendable () -> String
  ) {
    self.now = now
    self.look = look
  }

  /// The explanation as it is now, or was a short time ago.
  var text: String {
    let begin = now()
    let known = state.withLock { state -> String? in
      if let last = state.last, state.isLooking || begin < last.expires { return last.text }
      state.isLooking = true
      return nil
    }
    if let known { return known }
    let text = look()
    let end = now()
    state.withLock { state in
      state.last = (text, end + (end - begin) * 20)
      state.isLooking = false
    }
    return text
  }
}
