import CoreOperations

/// What operations call.
extension ExclusivityDomain {
  /// Takes all claims or none.
  ///
  /// Called with a slot for the operation in hand.
  ///
  /// - Parameters:
  ///   - demands: What the operation claims.
  ///   - operation: Who claims it.
  ///   - needsReview: Whether the operation is to be asked before it tries again.
  ///   - isByHand: Whether the operation is in no queue and needs no slot.
  ///   - alwaysWaits: Whether it waits for what is busy, whatever its claims say.
  /// - Returns: What became of the attempt.
  func take(
    _ demands: [ClaimDemand],
    for operation: AdvancedOperation,
    needsReview: Bool,
    isByHand: Bool,
    alwaysWaits: Bool = false
  ) -> ClaimLedger.Decision {
    let time = time(of: demands, for: operation)
    let attempt = ClaimLedger.Attempt(
      operation: operation,
      demands: demands,
      terms: Claimant.Terms(
        groups: operation.enclosingGroups,
        clock: time?.clock,
        needsReview: needsReview,
        isByHand: isByHand,
        alwaysWaits: alwaysWaits
      ),
      time: time
    )
    return update { $0.takeCalled(attempt, &$1) }
  }

  /// The immediate conditions of an operation are about to be asked.
  func conditionsAsked(_ demands: [ClaimDemand], for operation: AdvancedOperation) {
    let time = time(of: demands, for: operation)
    ledger.withLock { $0.conditionsAsked(demands, for: operation, time) }
  }

  private func time(
    of demands: [ClaimDemand],
    for operation: AdvancedOperation
  ) -> ClaimLedger.Time? {
    if !demands.contains(where: \.isRate) { return nil }
    let clock = operation.environment.clock
    return ClaimLedger.Time(clock: clock, now: clock.now)
  }

  /// Gives back what a quiet operation holds, and offers it to operations that wait.
  package func release(_ operation: AdvancedOperation) {
    update { $0.releaseCalled(operation, &$1) }
  }

  /// Gives back what an operation was given that doesn't start now, also the starts that rates
  /// count.
  func returnGrant(_ operation: AdvancedOperation) {
    let time = time(of: operation.withCore { $0.claims }, for: operation)
    update { $0.grantReturned(operation, now: time?.now, &$1) }
  }

  /// Takes an operation that won't execute out of the line; what it was given it keeps until its
  /// end, besides the starts that rates count.
  package func withdraw(_ operation: AdvancedOperation) {
    let time = time(of: operation.withCore { $0.claims }, for: operation)
    update { $0.withdrawCalled(operation, now: time?.now, &$1) }
  }

  // MARK: Waits

  /// What an operation that waits for its claims waits for; nothing when it is about to try again.
  func waits(of operation: AdvancedOperation) -> [Wait] {
    ledger.withLock { $0.waits(of: operation) }
  }

  /// Whether an operation waits for one that may wait for others.
  func waitsForParent(_ operation: AdvancedOperation) -> Bool {
    ledger.withLock { $0.waitsForParent(operation) }
  }

  /// Whether others may stand behind an operation in a line, and so wait for its start.
  func mayBeFollowed(_ operation: AdvancedOperation) -> Bool {
    ledger.withLock { $0.mayBeFollowed(operation) }
  }

  /// Whether it is the order of coming that keeps an operation waiting.
  func isBehind(_ operation: AdvancedOperation) -> Bool {
    ledger.withLock { $0.isBehind(operation) }
  }

  /// Lets an operation come first wherever it is only the order that keeps it waiting.
  ///
  /// - Returns: Whether it was that.
  func moveToFront(_ operation: AdvancedOperation) -> Bool {
    update { $0.movedToFront(operation, &$1) }
  }

  /// Takes an operation out of the line, unless it isn't in one.
  ///
  /// - Returns: Whether it was, so that it has neither got its claims nor been told to try again.
  func withdrawWaiting(_ operation: AdvancedOperation) -> Bool {
    update { ledger, effects in
      guard ledger.isWaiting(operation) else { return false }
      ledger.withdrawCalled(operation, now: nil, &effects)
      return true
    }
  }
}
