import CoreOperations

/// The wait of an operation between two attempts or rounds, by the clock of its environment.
///
/// An object, so that an operation without one has a word for it.
final class OperationPause: Sendable {
  enum Reason: Sendable {
    case failedAttempt(Int, [OperationFailure.Element])
    case endedRound(Int)
  }

  let reason: Reason
  let begin: Duration
  let end: Duration
  /// The turn that the operation waits for afterwards; nil where it keeps its slot and its claims.
  let turn: AttemptTurn?

  init(reason: Reason, begin: Duration, end: Duration, turn: AttemptTurn? = nil) {
    self.reason = reason
    self.begin = begin
    self.end = end
    self.turn = turn
  }

  /// The number of the attempt that comes next; nil between two rounds.
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

  /// For people: why, and how long still.
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

/// The wait of an operation for the slot and the claims of its next attempt, which ends once: the
/// attempt begins, or nothing comes of it.
final class AttemptTurn: Sendable {
  private enum State {
    case open
    case begun
    /// With what keeps the attempt from beginning, unless that is the end of the operation.
    case abandoned(OperationFailure.Element?)
  }

  private let state = Locked(State.open)
  private let wait = AsyncWait()

  /// The operation has all that the attempt needs.
  ///
  /// - Returns: Whether the attempt begins; if not, it was abandoned before.
  func begin() -> Bool { end(with: .begun) }

  /// Nothing comes of the attempt; does nothing once it has begun.
  ///
  /// - Returns: Whether this was what ended the wait.
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

  /// What came of a turn.
  enum Outcome {
    case begun
    case abandoned(OperationFailure.Element?)
  }

  /// Waits for the turn, also until the task is cancelled, and abandons it then.
  ///
  /// - Parameter want: Makes the operation wait in its queue.
  /// - Returns: What came of it.
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

/// What an operation does between two attempts that gives back its slot and its claims meanwhile.
extension AdvancedOperation {
  /// The turn that the operation waits for, or will when its delay is over; nil if there is none.
  final var attemptTurn: AttemptTurn? { pause?.turn }

  /// Gives back slot and claims; ``wantTurn()`` follows, unless the operation ends.
  final func giveBackForPause() {
    if withCore({ !$0.claims.isEmpty }) { environment.claimDomain.release(self) }
    beginPause()
  }

  /// Waits for slot and claims, as at the start.
  final func wantTurn() {
    if isInQueue { endPause() } else { environment.enqueue { self.nextAttemptMayBegin() } }
  }

  /// The operation has a slot for its next attempt, and its claims.
  final func nextAttemptMayBegin() {
    if attemptTurn?.begin() == true { return }
    // It is over, and may have got claims after it gave back what it had; its end gives these back
    // if that is still to come. Nothing has started that rates should count.
    withdrawClaims()
    if withCore({ $0.machine.isIdle }) { environment.claimDomain.release(self) }
  }

  /// The next attempt doesn't begin: the operation leaves all lines, and ends.
  final func abandonAttempt(because element: OperationFailure.Element? = nil) {
    guard let turn = attemptTurn, turn.abandon(because: element) else { return }
    withdrawClaims()
    abandonTurn()
  }
}
