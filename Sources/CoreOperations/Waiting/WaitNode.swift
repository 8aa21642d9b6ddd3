extension WaitNode {
  /// All that has to come before this, as far as it can be seen; nothing if it can happen by
  /// itself.
  ///
  /// What the program may do at any time (resume a queue, raise a limit that is 0, say that an
  /// override is ready) counts as something that will happen.
  func needs() -> [WaitNeed] {
    switch self {
    case .start(let operation):
      if operation.hasBegun { return operation.needsOfTurn() }
      // Before the start, that is the code of its conditions.
      return operation.needsOfOwnWaits() + operation.needsBeforeStart()
    case .end(let operation):
      if operation.life.current.phase == .finished { return [] }
      let own = operation.needsOfOwnCode()
      return operation.hasBegun ? own : own + operation.needsBeforeStart()
    case .quiet(let operation):
      if operation.life.current.phase == .finished { return operation.needsOfOwnCode() }
      return WaitNode.end(operation).needs()
    }
  }
}

extension Operation {
  /// Whether nothing keeps the operation from its work any more: after the `start()` of code
  /// outside of a queue, its layer may still wait.
  final var hasBegun: Bool {
    if life.current.phase <= .enqueued { return false }
    guard let layer = unsafe layer else { return true }
    return !layer.isStartingByHand
  }

  /// What the operation's own code waits for, what its layer runs for it, and its next turn after a
  /// pause.
  fileprivate func needsOfOwnCode() -> [WaitNeed] {
    let needs = needsOfOwnWaits()
    guard let layer = unsafe layer else { return needs }
    return needs + needsOfTurn() + layer.layerNeedsOfExecution()
  }

  /// What the operation's next turn after a pause needs; nothing if it waits for none, or was
  /// cancelled and ends without it.
  fileprivate func needsOfTurn() -> [WaitNeed] {
    guard let layer = unsafe layer, life.current.phase > .enqueued, !isCancelledFlag else {
      return []
    }
    return needsOfQueue() + layer.layerNeedsOfTurn()
  }

  /// What the code that runs on the operation's behalf waits for.
  fileprivate func needsOfOwnWaits() -> [WaitNeed] {
    let waits = withLinks { $0.extra?.ownWaits ?? [] }
    return waits.filter(\.isBinding).flatMap { wait -> [WaitNeed] in
      switch wait.target {
      case .operation(let operation): [WaitNeed(.end(operation), stamp: wait.id)]
      case .queue(let queue):
        queue.scheduler.members.map { WaitNeed(.quiet($0), stamp: wait.id) }
      }
    }
  }

  /// What its queue lets it wait for.
  final func needsOfQueue() -> [WaitNeed] {
    withLinks { $0.scheduler }?.needs(of: self) ?? []
  }

  /// What has to come before the operation can start; without the slots and barriers of its queue,
  /// if these aren't wanted.
  final func needsBeforeStart(includingQueue: Bool = true) -> [WaitNeed] {
    if isCancelledFlag || readiness.current.isDropped {
      return parentToLeave.map { [WaitNeed(.start($0))] } ?? []
    }
    var needs = withDependencyList { $0.operations }
      .filter { $0.life.current.phase != .finished }
      .map { WaitNeed(.end($0), isDependency: true) }
    if includingQueue { needs += needsOfQueue() }
    if let layer = unsafe layer { needs += layer.layerNeedsBeforeStart() }
    return needs
  }
}
