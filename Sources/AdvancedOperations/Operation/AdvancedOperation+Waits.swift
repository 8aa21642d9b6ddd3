package import CoreOperations

extension AdvancedOperation {
  /// The group that the operation is a child of, until that executes.
  package final var awaitedParent: Operation? {
    guard let group = withCore({ $0.extra?.group }) else { return nil }
    return group.withCore { $0.machine.state < .executing } ? group : nil
  }

  package final var awaitedHelpers: [Operation] {
    let helpers = withCore { core in
      core.machine.isCancelled ? [] : core.extra?.awaitedHelpers ?? []
    }
    return helpers.filter { !$0.isFinished }
  }

  package final var isAwaitedInLayer: Bool {
    hasWaitingChildren || withCore { $0.isAwaitedAsHelper }
  }

  /// Helpers that conditions brought, the start of the group that the operation is a child of, and
  /// what it claims.
  package final func layerNeedsBeforeStart() -> [WaitNeed] {
    let (group, hasClaims) = withCore { core in (core.extra?.group, !core.claims.isEmpty) }
    var needs = awaitedHelpers.map { WaitNeed(.end($0)) }
    if let group { needs.append(WaitNeed(.start(group))) }
    if hasClaims { needs += environment.exclusivity.waits(of: self).flatMap(\.needs) }
    return needs
  }

  package final var isStartingByHand: Bool {
    withCore { $0.machine.isStartedByHand && $0.machine.state < .executing }
  }

  /// The claims that the next attempt waits for.
  package final func layerNeedsOfTurn() -> [WaitNeed] {
    guard attemptTurn != nil, withCore({ !$0.claims.isEmpty }) else { return [] }
    return environment.exclusivity.waits(of: self).flatMap(\.needs)
  }

  /// Children that have not ended.
  package final func layerNeedsOfExecution() -> [WaitNeed] {
    openChildren.map { WaitNeed(.quiet($0)) }
  }
}
