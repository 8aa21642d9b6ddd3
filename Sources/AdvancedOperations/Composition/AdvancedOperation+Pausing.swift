import CoreOperations

/// What an operation does between two attempts that gives back its slot and its claims meanwhile.
extension AdvancedOperation {
  /// The turn that the operation waits for, or will when its delay is over; nil if there is none.
  final var attemptTurn: AttemptTurn? { pause?.turn }

  /// Gives back slot and claims; ``wantTurn()`` follows, unless the operation ends.
  final func giveBackForPause() {
    if withCore({ !$0.claims.isEmpty }) { environment.exclusivity.release(self) }
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
    if withCore({ $0.machine.isIdle }) { environment.exclusivity.release(self) }
  }

  /// The next attempt doesn't begin: the operation leaves all lines, and ends.
  final func abandonAttempt(because element: OperationFailure.Element? = nil) {
    guard let turn = attemptTurn, turn.abandon(because: element) else { return }
    withdrawClaims()
    abandonTurn()
  }
}
