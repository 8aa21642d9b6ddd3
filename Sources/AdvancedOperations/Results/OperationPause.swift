import CoreOperations

/// The wait of an operation between two attempts or rounds, by the clock of its environment.
///
/// It is a class, so that an operation without a pause stores only one word for it.
final class OperationPause: Sendable {
  enum Reason: Sendable {
    case failedAttempt(Int, [OperationFailure.Element])
    case endedRound(Int)
  }

  let reason: Reason
  let begin: Duration
  let end: Duration
  /// The wait for a slot and claims after the delay; nil if the operation keeps its slot and its claims.
  let turn: AttemptTurn?

  init(reason: Reason, begin: Duration, end: Duration, turn: AttemptTurn? = nil) {
    self.reason = reason
    self.begin = begin
    self.end = end
    self.turn = turn
  }

  /// The number of the next attempt; nil between two rounds.
  var nextAttempt: Int? {
    switch reason {
    case .failedAttempt(let number, _): number + 1
    case .endedRound: nil
    }
  }

  /// The error of the attempt that failed; nil between two rounds.
  var error: (any Error)? {
    guard case .failedAttempt(_, let failures) = reason else { return nil }
    return RetryRun.error(of: failures)
  }

  /// The reason and the rest of the delay, as text for people.
  func text(at now: Duration, showsErrors: Bool = true) -> String {
    let rest = max(end.saturatingSubtracting(now), .zero).readable
    switch reason {
    case .failedAttempt(let number, let failures):
      let summary =
        showsErrors ? " (\(OperationFailure(elements: failures).summary(limit: 1)))" : ""
      return "waits: attempt \(number) failed\(summary); tries again in \(rest)"
    case .endedRound(let number):
      return "waits: round \(number) has ended; begins the next in \(rest)"
    }
  }
}

/// The wait of an operation for the slot and the claims of its next attempt.
///
/// The wait ends once: the attempt begins or is abandoned.
final class AttemptTurn: Sendable {
  private enum State {
    case open
    case begun
    /// The attempt doesn't begin, because of this error; nil if the operation has ended.
    case abandoned(OperationFailure.Element?)
  }

  private let state = Locked(State.open)
  private let wait = AsyncWait()

  /// The operation has the slot and the claims for the attempt.
  ///
  /// - Returns: Whether the attempt begins. If it doesn't, it was abandoned before.
  func begin() -> Bool { end(with: .begun) }

  /// Abandons the attempt.
  ///
  /// Does nothing if the attempt has begun.
  ///
  /// - Returns: Whether this call ended the wait.
  func abandon(because element: OperationFailure.Element? = nil) -> Bool {
    end(with: .abandoned(element))
  }

  private func end(with new: State) -> Bool {
    let isFirst = state.withLock { state in
      guard case .open = state else { return false }
      state = new
      return true
    }
    if isFirst { wait.finish() }
    return isFirst
  }

  /// The result of the wait.
  enum Outcome {
    case begun
    case abandoned(OperationFailure.Element?)
  }

  /// Waits until the attempt begins or is abandoned.
  ///
  /// If the task is cancelled, abandons the attempt.
  ///
  /// - Parameter want: A closure that lets the operation wait in its queue.
  /// - Returns: The result of the wait.
  func outcome(wanting want: @Sendable () -> Void) async -> Outcome {
    try? await wait.run { _ in
      want()
      return true
    } unregister: { _ in
      _ = self.abandon()
    }
    _ = abandon()
    return state.withLock { state in
      if case .abandoned(let element) = state { .abandoned(element) } else { .begun }
    }
  }
}

/// The steps of an operation that releases its slot and its claims between two attempts.
extension AdvancedOperation {
  /// The current wait for a slot and claims, or the wait after the delay; nil if there is none.
  final var attemptTurn: AttemptTurn? { pause?.turn }

  /// Releases the slot and the claims.
  ///
  /// ``wantTurn()`` follows, unless the operation ends.
  final func giveBackForPause() {
    if withCore({ !$0.claims.isEmpty }) { environment.claimDomain.release(self) }
    beginPause()
  }

  /// Begins the wait for a slot and claims, as at the start.
  final func wantTurn() {
    if isInQueue { endPause() } else { environment.enqueue { self.nextAttemptMayBegin() } }
  }

  /// The operation has a slot for its next attempt, and its claims.
  final func nextAttemptMayBegin() {
    if attemptTurn?.begin() == true { return }
    // The operation has ended, and may have acquired claims after it released its claims for the pause. If it
    // isn't idle yet, its end releases these. Rates don't have to count anything, because the attempt hasn't
    // started.
    withdrawClaims()
    if withCore({ $0.machine.isIdle }) { environment.claimDomain.release(self) }
  }

  /// Abandons the next attempt.
  ///
  /// The operation leaves all queues of waiters, and ends.
  final func abandonAttempt(because element: OperationFailure.Element? = nil) {
    guard let turn = attemptTurn, turn.abandon(because: element) else { return }
    withdrawClaims()
    abandonTurn()
  }
}
