// How operations become members of a queue.
extension OperationQueue {
  /// Adds operations that a member needs for its conditions: behind the same barriers as that
  /// member, and beside the limit.
  final func addOperations(_ ops: [Operation], besides member: Operation) {
    let taken = admitted(ops, besides: member).filter { operation in
      if case .over = take(operation) { return false }
      return true
    }
    enqueueStepwise(taken, besides: member)
  }

  /// Those that a closed queue takes in; all unless it is closed.
  private func admitted(_ operations: [Operation], besides member: Operation? = nil) -> [Operation]
  {
    scheduler.gate?.admits(operations, to: self, neededBy: member) ?? operations
  }

  final func enqueue(_ operation: Operation) {
    if let gate = scheduler.gate, gate.admits([operation], to: self, neededBy: nil).isEmpty {
      return
    }
    switch take(operation) {
    case .over: return
    case .plain:
      if !scheduler.addIfUnobserved(operation, owner: self) {
        enqueueStepwise(CollectionOfOne(operation))
      }
    case .layered, .suspect: enqueueStepwise(CollectionOfOne(operation))
    }
  }

  final func enqueue(_ operations: [Operation]) {
    let operations = admitted(operations)
    var isPlain = valueObservers.isEmpty
    Member.forEach(in: operations) { member in
      switch member.use({ take($0) }) {
      case .plain: break
      case .layered, .suspect, .over: isPlain = false
      }
    }
    if isPlain, scheduler.addIfOpen(operations, owner: self) {
      valueObservers.look(at: self)
    } else {
      // An operation that was over before it was added has no scheduler, and is left out.
      enqueueStepwise(operations.filter { $0.withLinks { $0.scheduler === scheduler } })
    }
  }

  /// What has to happen to an operation that has become this queue's.
  private enum Taken {
    /// Nothing, before it is let in.
    case plain
    /// Its layer is notified before it is let in.
    case layered
    /// A search for cycles, before it is let in.
    case suspect
    /// Nothing at all: an override has reported its end before.
    case over
  }

  /// Makes an operation this queue's.
  private func take(_ operation: Operation) -> Taken {
    switch operation.life.step({ $0.enqueued() }) {
    case .admit: break
    case .ignore: return .over
    case .reject(let mistake): trap(mistake.sentence(about: operation))
    }
    let terms = operation.layer?.willEnqueue(in: self)
    if terms?.isHeld == true { operation.readiness.step { $0.holdTaken() } }
    return operation.withLinks { links in
      if links.isClosed { return .over }
      links.isAskedAtStart = terms?.isAskedAtStart == true
      links.enter(scheduler)
      if links.mayBeInCycle || links.mark > .none { return .suspect }
      return terms?.needsDidEnqueue == true ? .layered : .plain
    }
  }

  /// Makes operations members, notifies observers and layers, looks for cycles, and lets them
  /// start: one step for all of them after the other.
  private func enqueueStepwise(
    _ operations: some Collection<Operation>,
    besides member: Operation? = nil
  ) {
    if operations.isEmpty { return }
    let (isAwaited, isBeforeBarrier, gate) = scheduler.add(
      operations,
      besides: member,
      owner: self
    )
    if !valueObservers.isEmpty, let first = operations.first {
      ThreadContext.holding(first, by: .queueObserver) {
        valueObservers.look(at: self)
      }
    }
    gate?.arrived(Array(operations), in: self, neededBy: member)
    for operation in operations {
      guard let layer = operation.layer else { continue }
      ThreadContext.holding(operation, by: .observer) { layer.didEnqueue() }
    }
    let suspects = operations.filter { $0.withLinks { $0.mayBeInCycle } }
    if !suspects.isEmpty { CycleSearch.cancelCycles(from: suspects) }
    // Before one of them runs and begins a wait, which would then get the error in its place.
    RunTimeCycles.checkNew(
      operations,
      in: scheduler,
      isAwaited: isAwaited,
      isBeforeBarrier: isBeforeBarrier
    )
    scheduler.letIn(operations)
  }
}
