/// Rings that aren't made of dependencies alone: something in them executes, and its own code waits, or
/// what it runs does.
///
/// When such a wait begins, what it needs is marked, itself and through others. From then on, each of
/// those looks for a ring whenever it gets something more to wait for: a queue, a dependency, a group.
/// Of two that close a ring at the same time, at least one sees the other: one marks, then looks at
/// everything; the other has what it waits for, then looks for the mark. What nobody who executes needs
/// costs nothing.
package enum RunTimeRings {
  /// Marks operations, and what has to come before they can end as far as that hasn't begun.
  ///
  /// The mark stays: an operation ends once, and a mark that is out of date costs a look.
  ///
  /// - Complexity: O(v + e) of what isn't marked.
  package static func mark(_ operations: some Sequence<Operation>) {
    var due = Array(operations)
    while let operation = due.popLast() {
      let isNew = operation.withLinks { links in
        defer { links.isNeeded = true }
        return !links.isNeeded
      }
      if isNew { due += needed(by: operation) }
    }
  }

  private static func needed(by operation: Operation) -> [Operation] {
    guard operation.life.current.phase <= .enqueued else { return [] }
    return operation.needsBeforeStart().flatMap { need in need.sources.map(\.node.operation) }
  }

  // MARK: What may close a ring

  /// Operations have come into a queue, and wait for a slot or behind barriers there.
  ///
  /// - Parameters:
  ///   - operations: The new members; not let in yet, or they would be to blame for what they begin to
  ///     wait for.
  ///   - queue: The queue.
  ///   - isAwaited: Whether the code of an operation waits for all that the queue has.
  static func lookAtNew(
    _ operations: some Sequence<Operation>,
    in queue: OperationQueue,
    isAwaited: Bool
  ) {
    let needed = operations.filter(\.isNeeded)
    if !needed.isEmpty {
      for operation in needed { mark(Self.needed(by: operation)) }
      lookAtQueues(of: needed)
    }
    if isAwaited { lookAtChildren(operations, in: queue) }
  }

  /// A queue can start something from now on; what it couldn't start before counted as something that
  /// people will change.
  static func lookAtWaiting(in scheduler: Scheduler) {
    lookAtQueues(of: scheduler.members.filter { $0.isNeeded && $0.life.current.phase <= .enqueued })
  }

  /// Their dependencies were there before, so what is new is what their queues let them wait for.
  private static func lookAtQueues(of operations: [Operation]) {
    var search = WaitSearch()
    for operation in operations where !search.canSatisfy(operation.needsOfQueue()) {
      openRing(through: operation)
    }
  }

  /// An operation got a dependency.
  static func lookAtDependency(of operation: Operation, _ dependency: Operation) {
    mark(CollectionOfOne(dependency))
    var search = WaitSearch()
    // What was there before has been looked at before.
    if !search.canHappen(.end(dependency)) { openRing(through: operation) }
  }

  /// An operation got something to wait for that its layer knows of.
  package static func lookAtOther(of operation: Operation) {
    guard operation.isNeeded else { return }
    mark(needed(by: operation))
    openRing(through: operation)
  }

  /// Operations have come into a queue of which something that executes needs all that is in it: its own,
  /// or one that its code waits for.
  ///
  /// - Complexity: O(n + e), n their number and e that of their dependencies, and O(v + e) of what those
  ///   outside of the queue wait for.
  package static func lookAtChildren(_ children: some Sequence<Operation>, in queue: OperationQueue)
  {
    var outward: [Operation] = []
    for child in children {
      // Siblings are marked by themselves. Marked before the look: a wait that begins after the look
      // finds the mark.
      child.withLinks { $0.isNeeded = true }
      let others = child.openDependencies(outside: queue) + child.openHelpers
      if others.isEmpty { continue }
      mark(others)
      outward.append(child)
    }
    var search = WaitSearch()
    for child in outward where !search.canHappen(.end(child)) { openRing(through: child) }
  }

  // MARK: Opening

  /// Opens the ring that an operation is in, if it is in one: by a change of order if that is all that
  /// closes it, and otherwise by letting the operation leave, since its wait was the last.
  private static func openRing(through operation: Operation) {
    while operation.life.current.phase <= .enqueued,
      // Rings of dependencies alone are no rings before they are in a queue: see ``CycleSearch``.
      let ring = WaitSearch.ring(through: .end(operation)), !ring.isOfDependencies
    {
      let layer = ring.operations.lazy.compactMap { unsafe $0.layer }.first
      if layer?.openRing(ring.operations) == true { continue }
      // A child of a parent that hasn't begun can't leave by itself, but the outermost of those can.
      var leaving = operation
      while let parent = unsafe leaving.layer?.awaitedParent { leaving = parent }
      leaving.leaveRing(because: OperationCycleError(path: ring.labels))
      return
    }
  }
}

extension Operation {
  /// Whether something that executes needs the end of this operation.
  package final var isNeeded: Bool { withLinks { $0.isNeeded } }

  fileprivate final var openHelpers: [Operation] { unsafe layer?.awaitedHelpers ?? [] }

  fileprivate final func openDependencies(outside queue: OperationQueue) -> [Operation] {
    withDependencyList { $0.operations }.filter { dependency in
      dependency.life.current.phase != .finished
        && dependency.withLinks { $0.scheduler !== queue.scheduler }
    }
  }
}
