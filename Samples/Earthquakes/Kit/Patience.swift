import Foundation
import Synchronization

/// How long a process waits for others that use the same database: five seconds each time.
package struct Patience: Sendable {
  private final class Exhaustion: Sendable {
    let isReached = Atomic(false)
  }

  private let limit: Duration
  private let pause: @Sendable (Duration) -> Void
  private var isWanted: @Sendable () -> Bool = { true }
  private let exhaustion: Exhaustion?

  /// Creates a patience that is not exhausted.
  ///
  /// - Parameters:
  ///   - limit: How long one wait may take.
  ///   - isExhaustible: Whether a wait of that length that was in vain is the last one: what comes
  ///     later does not wait, so that a database that is locked for good holds up a run of several
  ///     steps once, and not once per step. Copies share this.
  ///   - pause: Blocks the calling thread for a time.
  package init(
    limit: Duration = .seconds(5),
    isExhaustible: Bool = false,
    pause: @escaping @Sendable (Duration) -> Void = Self.sleep
  ) {
    self.limit = limit
    self.pause = pause
    exhaustion = isExhaustible ? Exhaustion() : nil
  }

  /// Blocks the calling thread for a time.
  package static let sleep: @Sendable (Duration) -> Void = { duration in
    Thread.sleep(forTimeInterval: duration / .seconds(1))
  }

  /// The same patience, for waits that end early when their result is not wanted any more.
  ///
  /// - Parameter isWanted: Whether to go on; called before each pause, in the waiting thread.
  /// - Returns: A patience that is exhausted when this one is.
  package func asLongAs(_ isWanted: @escaping @Sendable () -> Bool) -> Patience {
    var copy = self
    copy.isWanted = isWanted
    return copy
  }

  /// Pauses before the next attempt to get a lock, or says that there should be none.
  ///
  /// - Parameter attempts: How many pauses there were in this wait.
  /// - Returns: Whether to try again.
  func pause(after attempts: Int) -> Bool {
    let isExhausted = exhaustion?.isReached.load(ordering: .relaxed) ?? false
    guard isWanted(), !isExhausted else { return false }
    let remaining = limit - Self.pauses(attempts)
    guard remaining > .zero else {
      exhaustion?.isReached.store(true, ordering: .relaxed)
      return false
    }
    pause(min(Self.pauses(attempts + 1) - Self.pauses(attempts), remaining))
    return true
  }

  /// How long a number of pauses take together: 1, 2, 4, 8, 16 and 32 ms, then 50 ms each.
  private static func pauses(_ count: Int) -> Duration {
    let doubling = min(count, 6)
    return .milliseconds((1 << doubling) - 1 + 50 * (count - doubling))
  }
}
