import CoreOperations

extension AdvancedOperation {
  /// The operation has begun to wait for claims: gives up if that completes a cycle.
  ///
  /// Of several waits that complete a cycle together, the last one to be known sees the others.
  ///
  /// - Returns: What to fail with; nil to wait.
  final func cycleOfClaims() -> OperationCycleError? {
    guard let cycle = cycleOfWaits(),
      environment.exclusivity.update({ $0.withdrawnFromLine(self, &$1) })
    else {
      return nil
    }
    return OperationCycleError(path: cycle.map(\.label))
  }

  /// The operation waits for another claim than before, or behind others: lets it fail if that
  /// completes a cycle.
  final func claimWaitMoved() {
    while let cycle = cycleOfWaits(), refuseWaiting(in: cycle) {}
  }

  /// The cycle that the operation's wait for its claims is in, unless it is closed only by the
  /// order of coming; then the operations that this keeps come first.
  private func cycleOfWaits() -> [Operation]? {
    // An operation that nothing waits for is in no cycle.
    guard isAwaited,
      RunTimeCycles.areThinkable || environment.exclusivity.look({ $0.waitsForParent(self) })
    else { return nil }
    while let cycle = WaitSearch.cycle(through: .start(self))?.operations {
      if !Self.passOrder(in: cycle) { return cycle }
    }
    return nil
  }

  /// Whether anything may wait for the operation: dependents, a group, code that awaits it, what
  /// waits for a child of its own, which waits for its start, a barrier, and operations behind it
  /// in a line, because one that comes back or moves on stands in front of later ones that have
  /// looked before.
  private var isAwaited: Bool {
    parentNumber != nil || hasDependents || isNeeded
      || environment.exclusivity.look { $0.mayBeFollowed(self) }
      || parent != nil
      || withCore { core in
        core.extra.map { !$0.afterFinished.isEmpty || !$0.afterIdle.isEmpty } ?? false
      }
  }

  /// In a cycle that is completed only by the order of coming, lets the operations that it keeps
  /// come first.
  private static func passOrder(in cycle: [Operation]) -> Bool {
    // Decided before any of them moves, or the one that was passed would pass again.
    let behind = cycle.dropLast().compactMap { $0 as? AdvancedOperation }
      .filter { operation in operation.environment.exclusivity.look { $0.isBehind(operation) } }
    var hasPassed = false
    for operation in behind
    where operation.environment.exclusivity.update({ $0.movedToFront(operation, &$1) }) {
      hasPassed = true
    }
    return hasPassed
  }

  /// Lets operations that only the order of coming keeps come first, or fails one that waits for a
  /// claim.
  ///
  /// - Returns: Whether that has broke the cycle.
  final func breakCycleOfClaims(_ cycle: [Operation]) -> Bool {
    Self.passOrder(in: cycle)
      || cycle.contains { ($0 as? AdvancedOperation)?.refuseWaiting(in: cycle) ?? false }
  }

  /// Fails an operation that waits for a claim.
  ///
  /// - Returns: Whether it did.
  private func refuseWaiting(in cycle: [Operation]) -> Bool {
    let claim = environment.exclusivity.waits(of: self).first?.claim
    guard let claim, environment.exclusivity.update({ $0.withdrawnFromLine(self, &$1) }) else {
      return false
    }
    // Named from the one that is refused on.
    let members = cycle.dropLast()
    let start = members.firstIndex(of: self) ?? 0
    let path = members[start...] + members[..<start] + [self]
    let error = OperationCycleError(path: path.map(\.label))
    if attemptTurn != nil {
      abandonAttempt(because: Self.element(claim.name, error))
      return true
    }
    switch change({ $0.machine.reviewed(.failed([Self.element(claim.name, error)])) }) {
    case .becomeReady: leaveAhead()
    case .ignore: break
    }
    return true
  }
}
