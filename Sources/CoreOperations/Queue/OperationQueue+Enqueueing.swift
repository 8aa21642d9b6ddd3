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

/// What becomes of operations that are added to a queue which is being drained.
///
/// Called without a lock held.
package protocol ArrivalGate: AnyObject, Sendable {
  /// Operations are about to be added: keeps out those that are turned away, and lets them end
  /// elsewhere.
  ///
  /// - Parameters:
  ///   - operations: In no queue.
  ///   - queue: The closed queue.
  ///   - member: The member that needs them for a condition; nil for none.
  /// - Returns: Those to add.
  func admits(
    _ operations: [Operation],
    to queue: OperationQueue,
    neededBy member: Operation?
  ) -> [Operation]

  /// Operations have become members, and nothing has happened to them yet. Those that came while
  /// the queue was being closed weren't kept out.
  ///
  /// - Parameters:
  ///   - operations: The new members.
  ///   - queue: Their queue.
  ///   - member: The member that needs them for a condition; nil for none.
  func arrived(_ operations: [Operation], in queue: OperationQueue, neededBy member: Operation?)
}

extension OperationQueue {
  /// Has a gate look at each operation that is added from now on; of several gates the first
  /// counts.
  ///
  /// - Returns: The gate that counts, and the members that it has not seen: all if it is a new one.
  package final func close(with gate: any ArrivalGate) -> (any ArrivalGate, [Operation]) {
    scheduler.close(with: gate)
  }

  /// The gate, if the queue was closed.
  package final var gate: (any ArrivalGate)? { scheduler.gate }
}
