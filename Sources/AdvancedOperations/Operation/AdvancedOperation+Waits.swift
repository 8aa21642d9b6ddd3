package import CoreOperations

extension AdvancedOperation {
  /// The group that the operation is a child of, until that executes.
  package final var awaitedParent: Operation? {
    guard let group = withCore({ $0.extra?.group }) else { return nil }
    return group.withCore { $0.machine.state < .executing } ? group : nil
  }

  package final var isAwaitedParent: Bool { hasWaitingChildren }

  /// Helpers that conditions brought, the start of the group that the operation is a child of, and
  /// what it claims.
  package final func layerNeedsBeforeStart() -> [WaitNeed] {
    let (helpers, group, hasClaims) = withCore { core in
      (core.extra?.helpers ?? [], core.extra?.group, !core.claims.isEmpty)
    }
    var needs = helpers.map { WaitNeed(.end($0)) }
    if let group { needs.append(WaitNeed(.start(group))) }
    if hasClaims { needs += environment.exclusivity.waits(of: self).flatMap(\.needs) }
    return needs
  }

  /// Children that have not ended.
  package final func layerNeedsOfExecution() -> [WaitNeed] {
    openChildren.map { WaitNeed(.quiet($0)) }
  }
}
