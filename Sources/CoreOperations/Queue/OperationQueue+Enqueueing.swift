// Adding operations to a queue, which makes them its members.
extension OperationQueue {
  /// Adds operations that a member needs for its conditions.
  ///
  /// The operations are behind the same barriers as the member, and aren't counted against the limit.
  final func addOperations(_ ops: [Operation], besides member: Operation) {
    let taken = admitted(ops, besides: member).filter { operation in
      if case .over = take(operation) { return false }
      return true
    }
    enqueueStepwise(taken, besides: member)
  }

  /// Returns the operations that the gate of a closed queue admits; all operations if the queue isn't closed.
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
      // An operation that had finished before it was added has no scheduler, and is left out.
      enqueueStepwise(operations.filter { $0.withLinks { $0.scheduler === scheduler } })
    }
  }

  /// The steps that an added operation needs before it is let in.
  private enum Taken {
    /// The operation needs no further step.
    case plain
    /// The layer of the operation is notified.
    case layered
    /// A search for cycles starts at the operation.
    case suspect
    /// The operation isn't let in, because an override has already reported its end.
    case over
  }

  /// Connects an operation with this queue, and returns the steps that it needs.
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

  /// Adds operations in separate steps, each of which handles all operations before the next step begins.
  ///
  /// The steps make the operations members, notify observers and layers, look for cycles, and let the
  /// operations start.
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
    // This search runs before one of the operations can run and begin a wait, which would otherwise get the
    // error instead.
    RunTimeCycles.checkNew(
      operations,
      in: scheduler,
      isAwaited: isAwaited,
      isBeforeBarrier: isBeforeBarrier
    )
    scheduler.letIn(operations)
  }
}

/// A gate that decides about operations that are added to a queue while it is being drained.
///
/// The queue calls the gate without holding a lock.
package protocol ArrivalGate: AnyObject, Sendable {
  /// Receives operations that are about to be added. The gate keeps out operations that it turns away, and
  /// lets them end elsewhere.
  ///
  /// - Parameters:
  ///   - operations: The operations, which aren't in a queue.
  ///   - queue: The closed queue.
  ///   - member: The member that needs the operations for a condition; nil if there is no such member.
  /// - Returns: The operations that are added.
  func admits(
    _ operations: [Operation],
    to queue: OperationQueue,
    neededBy member: Operation?
  ) -> [Operation]

  /// Receives operations that have become members, before any other step. The gate didn't keep out operations
  /// that arrived while the queue was being closed.
  ///
  /// - Parameters:
  ///   - operations: The new members.
  ///   - queue: Their queue.
  ///   - member: The member that needs the operations for a condition; nil if there is no such member.
  func arrived(_ operations: [Operation], in queue: OperationQueue, neededBy member: Operation?)
}

extension OperationQueue {
  /// Passes each operation that is added from now on to a gate.
  ///
  /// If several gates are set, the first one applies.
  ///
  /// - Returns: The gate that applies, and the members that it hasn't received. If the gate is new, these are
  ///   all members.
  package final func close(with gate: any ArrivalGate) -> (any ArrivalGate, [Operation]) {
    scheduler.close(with: gate)
  }

  /// The gate, if the queue was closed.
  package final var gate: (any ArrivalGate)? { scheduler.gate }
}
