/// Rings that aren't made of dependencies alone: something in them executes, and its own code
/// waits, or what it runs does; or a barrier waits for what is in front of it.
///
/// When such a wait begins, the operations that have to end for it are marked, directly and through
/// others. From then on, each marked operation looks for a ring whenever it gets something more to
/// wait for: a queue, a dependency, a group. Of two that close a ring at the same time, at least
/// one sees the other: one marks, then looks at everything; the other has what it waits for, then
/// looks for the mark. An operation that no such wait needs costs nothing.
package enum RunTimeRings {
  /// What waits for an operation; the later ones weigh more.
  enum Mark: UInt8, Comparable {
    case none
    /// A barrier, directly or through others.
    case barrier
    /// Code that executes, or a group that does, directly or through others.
    case code

    static func < (one: Mark, other: Mark) -> Bool { one.rawValue < other.rawValue }
  }

  /// Whether there is a wait in this process that could close such a ring: while there is none, no
  /// operation that begins to wait has to look.
  package static var areThinkable: Bool { OwnWaits.isAny || PendingBarriers.mayBeInRing }

  /// Marks operations, and what has to come before they can end as far as that hasn't begun.
  ///
  /// The mark stays: an operation ends once, and a mark that is out of date costs a look.
  ///
  /// - Parameters:
  ///   - operations: The operations.
  ///   - mark: What waits for them.
  ///   - isOrder: Whether it waits because they were there before, and not because it needs them.
  /// - Complexity: O(v + e) of what isn't marked so.
  static func mark(_ operations: some Sequence<Operation>, _ mark: Mark, isOrder: Bool = false) {
    var due = operations.map { (operation: $0, isNeeded: !isOrder) }
    while let (operation, isNeeded) = due.popLast() {
      let isNew = operation.withLinks { links in
        guard links.mark < mark else { return false }
        links.mark = mark
        return true
      }
      // After the mark: an operation that comes behind a barrier at this time looks for that after
      // it has come, so that at least one of the two is seen.
      if isNeeded, operation.isBehindBarrier { PendingBarriers.neededOneIsBehind() }
      if isNew { due += needed(by: operation).map { ($0, true) } }
    }
  }

  /// What has to end before an operation can start, but for what its queue lets it wait for:
  /// operations in front of a barrier have been marked by that, and those that hold a slot have
  /// begun.
  private static func needed(by operation: Operation) -> [Operation] {
    if operation.hasBegun { return [] }
    return operation.needsBeforeStart(includingQueue: false)
      .flatMap { need in need.sources.map(\.node.operation) }
  }

  // MARK: What may close a ring

  /// Operations have come into a queue, and wait for a slot or behind barriers there.
  ///
  /// - Parameters:
  ///   - operations: The new members; not let in yet, or they would be to blame for what they begin
  ///     to wait for.
  ///   - queue: The queue.
  ///   - isAwaited: Whether the code of an operation waits for all that the queue has.
  ///   - isBeforeBarrier: Whether a barrier waits for them.
  static func lookAtNew(
    _ operations: some Sequence<Operation>,
    in queue: OperationQueue,
    isAwaited: Bool,
    isBeforeBarrier: Bool = false
  ) {
    if isBeforeBarrier { mark(operations, .barrier, isOrder: true) }
    let needed = operations.filter(\.isNeeded)
    if !needed.isEmpty {
      if needed.contains(where: \.isBehindBarrier) { PendingBarriers.neededOneIsBehind() }
      for operation in needed { mark(Self.needed(by: operation), operation.mark) }
      lookAtQueues(of: needed)
    }
    if isAwaited { lookAtChildren(operations, in: queue) }
  }

  /// A barrier has come into a queue, and waits for the operations in front of it.
  ///
  /// - Parameters:
  ///   - operations: The operations in front of it that no earlier barrier waits for.
  ///   - scheduler: The queue.
  ///   - hasMembersBehind: Tells whether operations have come behind it meanwhile.
  static func lookAtBarrier(
    before operations: [Operation],
    in scheduler: Scheduler,
    hasMembersBehind: () -> Bool
  ) {
    mark(operations, .barrier, isOrder: true)
    if hasMembersBehind() { lookAtWaiting(in: scheduler) }
  }

  /// Whether what has become necessary for many can't happen, so that each of them has to be looked
  /// at.
  static func mayBeInRing(_ need: WaitNeed) -> Bool {
    var search = WaitSearch()
    return !search.canSatisfy([need])
  }

  /// A queue can start something from now on; what it couldn't start before counted as something
  /// that people will change.
  static func lookAtWaiting(in scheduler: Scheduler) {
    lookAtQueues(of: scheduler.members.filter { $0.mayCloseRing && $0.waitsForTurn })
  }

  /// An operation that executes waits for its next turn after a pause.
  static func lookAtPaused(_ operation: Operation) {
    if operation.mayCloseRing { lookAtQueues(of: [operation]) }
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
    mark(CollectionOfOne(dependency), operation.mark)
    guard operation.mayCloseRing else { return }
    var search = WaitSearch()
    // What was there before has been looked at before.
    if !search.canHappen(.end(dependency)) { openRing(through: operation) }
  }

  /// An operation got something to wait for that its layer knows of.
  package static func lookAtOther(of operation: Operation) {
    guard operation.isNeeded else { return }
    mark(needed(by: operation), operation.mark)
    guard operation.mayCloseRing else { return }
    openRing(through: operation)
  }

  /// Operations have come into a queue of which something that executes needs all that is in it:
  /// its own, or one that its code waits for.
  ///
  /// - Complexity: O(n + e), n their number and e that of their dependencies, and O(v + e) of what
  ///   those outside of the queue wait for.
  package static func lookAtChildren(_ children: some Sequence<Operation>, in queue: OperationQueue)
  {
    var outward: [Operation] = []
    for child in children {
      // Siblings are marked by themselves. Marked before the look: a wait that begins after the
      // look finds the mark.
      child.withLinks { $0.mark = .code }
      let others = child.openDependencies(outside: queue) + child.openHelpers
      if others.isEmpty { continue }
      mark(others, .code)
      outward.append(child)
    }
    var search = WaitSearch()
    for child in outward where !search.canHappen(.end(child)) { openRing(through: child) }
  }

  // MARK: Opening

  /// Opens the ring that an operation is in, if it is in one: by a change of order if that is all
  /// that closes it, and otherwise by letting the operation leave, since its wait was the last.
  private static func openRing(through operation: Operation) {
    while operation.waitsForTurn,
      // Rings of dependencies alone are no rings before they are in a queue: see ``CycleSearch``.
      let ring = WaitSearch.ring(through: .end(operation)), !ring.isOfDependencies
    {
      let layer = ring.operations.lazy.compactMap { unsafe $0.layer }.first
      if layer?.openRing(ring.operations) == true { continue }
      // A child of a parent that hasn't begun can't leave by itself, but the outermost of those
      // can.
      var leaving = operation
      while let parent = unsafe leaving.layer?.awaitedParent { leaving = parent }
      leaving.leaveRing(because: OperationCycleError(path: ring.labels))
      return
    }
  }
}

extension Operation {
  /// Whether code that executes, or a barrier, needs the end of this operation.
  package final var isNeeded: Bool { mark > .none }

  fileprivate final var mark: RunTimeRings.Mark { withLinks { $0.mark } }

  /// Whether a ring may be closed by something that the operation begins to wait for.
  fileprivate final var mayCloseRing: Bool {
    switch mark {
    case .none: false
    case .barrier: PendingBarriers.mayBeInRing
    case .code: true
    }
  }

  /// Whether the operation has not started, or has paused and not gone on.
  fileprivate final var waitsForTurn: Bool {
    let phase = life.current.phase
    if phase <= .enqueued { return true }
    guard isLayered, phase == .started else { return false }
    return withLinks { $0.scheduler }?.isPaused(self) ?? false
  }

  fileprivate final var isBehindBarrier: Bool {
    if PendingBarriers.isEmpty { return false }
    return withLinks { $0.scheduler }?.hasBarrier(inFrontOf: self) ?? false
  }

  fileprivate final var openHelpers: [Operation] { unsafe layer?.awaitedHelpers ?? [] }

  fileprivate final func openDependencies(outside queue: OperationQueue) -> [Operation] {
    withDependencyList { $0.operations }.filter { dependency in
      dependency.life.current.phase != .finished
        && dependency.withLinks { $0.scheduler !== queue.scheduler }
    }
  }
}
