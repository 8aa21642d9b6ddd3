import Synchronization

/// Cycles that aren't made of dependencies alone: something in them executes, and its own code
/// waits, or what it runs does; or a barrier waits for what is in front of it.
///
/// When such a wait begins, the operations that have to end for it are marked, directly and through
/// others. From then on, each marked operation looks for a cycle whenever it gets something more to
/// wait for: a queue, a dependency, a group. Of two that complete a cycle at the same time, at
/// least one sees the other: one marks, then looks at everything; the other has what it waits for,
/// then looks for the mark. An operation that no such wait needs costs nothing.
package enum RunTimeCycles {
  /// Marks operations, and what has to come before they can end as far as that hasn't begun; then
  /// looks for cycles.
  ///
  /// The mark stays: an operation ends once, and a mark that is out of date costs a look.
  ///
  /// Two threads may mark the same operations at once. The one that finds an operation marked
  /// doesn't know how far the other has come behind it, and something that is not marked yet may
  /// get more to wait for then. So each that isn't alone looks, when its marks are set, at
  /// everything that it has come across: the one whose mark came too late sees what came before it.
  ///
  /// - Parameters:
  ///   - operations: The operations.
  ///   - mark: What waits for them.
  ///   - isOrder: Whether it waits because they were there before, and not because it needs them.
  ///   - look: Looks at what has begun to wait, with the search that looks at the rest afterwards.
  /// - Complexity: O(v + e) of what isn't marked so, and of what the search has to look at.
  static func mark(
    _ operations: some Sequence<Operation>,
    _ mark: WaitMark,
    isOrder: Bool = false,
    thenLook look: (inout WaitSearch) -> Void = { _ in }
  ) {
    let marking = Marking()
    var reached = Array(operations)
    let given = reached.count
    var next = 0
    while next < reached.count {
      let operation = reached[next]
      let isNew = operation.withLinks { links in
        guard links.mark < mark else { return false }
        links.mark = mark
        return true
      }
      // After the mark: an operation that comes behind a barrier at this time looks for that after
      // it has come, so that at least one of the two is seen.
      let isNeeded = !isOrder || next >= given
      if isNeeded, operation.isBehindBarrier { PendingBarriers.neededOneIsBehind() }
      if isNew { reached += needed(by: operation) }
      next += 1
    }
    let wasAlone = marking.end()
    var search = WaitSearch()
    look(&search)
    if !wasAlone { checkReached(reached[given...], &search) }
  }

  /// The time in which a thread marks, and whether others did at the same time.
  private struct Marking {
    /// How many have begun, and in the last 16 bits how many go on.
    private static let word = Atomic<UInt64>(0)
    private static let one: UInt64 = 1 << 16 + 1

    private let begin = Self.word.add(one, ordering: .sequentiallyConsistent).newValue

    /// - Returns: Whether no other one was going on meanwhile; false where threads are simulated,
    ///   whose looks don't depend on others of the process.
    func end() -> Bool {
      let end = Self.word.subtract(1, ordering: .sequentiallyConsistent).oldValue
      return !isInterruptible && begin & 0xffff == 1 && end == begin
    }
  }

  /// What has to end before an operation can start, but for what its queue lets it wait for:
  /// operations in front of a barrier have been marked by that, and those that hold a slot have
  /// begun.
  private static func needed(by operation: Operation) -> [Operation] {
    if operation.hasBegun { return [] }
    return operation.waitsBeforeStart(includingQueue: false).flatMap(\.needs)
      .flatMap { need in need.sources.map(\.node.operation) }
  }

  // MARK: What may complete a cycle

  /// Whether there is a wait in this process that could complete a cycle which isn't made of
  /// dependencies alone: while there is none, an operation that begins to wait needs no search.
  package static var areThinkable: Bool { OwnWaits.isAny || PendingBarriers.mayBeInCycle }

  /// Operations have come into a queue, and wait for a slot or behind barriers there.
  ///
  /// - Parameters:
  ///   - operations: The new members; not let in yet, or they would be to blame for what they begin
  ///     to wait for.
  ///   - scheduler: That of the queue.
  ///   - isAwaited: Whether the code of an operation waits for all that the queue has.
  ///   - isBeforeBarrier: Whether a barrier waits for them.
  static func checkNew(
    _ operations: some Sequence<Operation>,
    in scheduler: Scheduler,
    isAwaited: Bool,
    isBeforeBarrier: Bool = false
  ) {
    if isBeforeBarrier { mark(operations, .barrier, isOrder: true) }
    let needed = operations.filter(\.isNeeded)
    if !needed.isEmpty {
      if needed.contains(where: \.isBehindBarrier) { PendingBarriers.neededOneIsBehind() }
      for mark in [WaitMark.barrier, .code] {
        let needed = needed.filter { $0.mark == mark }
        if needed.isEmpty { continue }
        self.mark(needed.flatMap(Self.needed(by:)), mark) { checkQueues(of: needed, &$0) }
      }
    }
    if isAwaited { checkChildren(operations, in: scheduler) }
  }

  /// A barrier has come into a queue, and waits for the operations in front of it.
  ///
  /// - Parameters:
  ///   - operations: The operations in front of it that no earlier barrier waits for.
  ///   - scheduler: That of the queue.
  ///   - hasMembersBehind: Tells whether operations have come behind it meanwhile.
  static func checkBarrier(
    before operations: [Operation],
    in scheduler: Scheduler,
    hasMembersBehind: () -> Bool
  ) {
    mark(operations, .barrier, isOrder: true) { search in
      if hasMembersBehind() { checkWaiting(in: scheduler, &search) }
    }
  }

  /// Whether what has become necessary for many can't happen, so that each of them has to be looked
  /// at.
  static func mayBeInCycle(_ need: WaitNeed) -> Bool {
    var search = WaitSearch()
    return !search.canSatisfy([need])
  }

  /// A queue can start something from now on; what it couldn't start before counted as something
  /// that people will change.
  static func checkWaiting(in scheduler: Scheduler) {
    var search = WaitSearch()
    checkWaiting(in: scheduler, &search)
  }

  private static func checkWaiting(in scheduler: Scheduler, _ search: inout WaitSearch) {
    checkQueues(of: scheduler.members.filter { $0.mayCompleteCycle && $0.waitsForTurn }, &search)
  }

  /// An operation that executes waits for its next turn after a pause.
  static func checkPaused(_ operation: Operation) {
    guard operation.mayCompleteCycle else { return }
    var search = WaitSearch()
    checkQueues(of: [operation], &search)
  }

  /// Their dependencies were there before, so what is new is what their queues let them wait for.
  private static func checkQueues(of operations: [Operation], _ search: inout WaitSearch) {
    for operation in operations {
      let needs = operation.waitsInQueue().flatMap(\.needs)
      if !search.canSatisfy(needs) { breakCycle(through: operation) }
    }
  }

  /// An operation got a dependency.
  static func checkDependency(of operation: Operation, _ dependency: Operation) {
    mark(CollectionOfOne(dependency), operation.mark) { search in
      guard operation.mayCompleteCycle else { return }
      // What was there before has been looked at before.
      if !search.canHappen(.end(dependency)) { breakCycle(through: operation) }
    }
  }

  /// An operation got something to wait for that its layer knows of.
  package static func checkWait(of operation: Operation) {
    guard operation.isNeeded else { return }
    mark(needed(by: operation), operation.mark) { _ in
      if operation.mayCompleteCycle { breakCycle(through: operation) }
    }
  }

  /// Operations have come into a queue of which something that executes needs all that is in it:
  /// its own, or one that its code waits for.
  ///
  /// - Complexity: O(n + e), n their number and e that of their dependencies, and O(v + e) of what
  ///   those outside of the queue wait for.
  package static func checkChildren(
    _ children: some Sequence<Operation>,
    in scheduler: Scheduler
  ) {
    var outward: [Operation] = []
    var awaited: [Operation] = []
    for child in children {
      // Siblings are marked by themselves. Marked before the look: a wait that begins after the
      // look finds the mark.
      child.withLinks { $0.mark = .code }
      let others = child.waitsForConnections().filter(\.isCurrent).flatMap(\.operations)
        .filter { other in other.withLinks { $0.scheduler !== scheduler } }
      if others.isEmpty { continue }
      awaited += others
      outward.append(child)
    }
    if outward.isEmpty { return }
    mark(awaited, .code) { search in
      for child in outward where !search.canHappen(.end(child)) { breakCycle(through: child) }
    }
  }

  /// Operations have been marked, or found marked, and something may have come between.
  private static func checkReached(
    _ operations: some Sequence<Operation>,
    _ search: inout WaitSearch
  ) {
    var stuck = operations.filter { $0.mayCompleteCycle && !search.canHappen(.end($0)) }
    var before = Int.max
    // Each cycle that is broken lets some of them go on; if none does, an override stays.
    while !stuck.isEmpty, stuck.count < before {
      before = stuck.count
      // The search is older than what the look before it may have opened.
      var search = WaitSearch()
      stuck.removeAll { search.canHappen(.end($0)) }
      // What was marked last is the most likely to have come between.
      for cycle in search.cycles(behind: stuck.reversed()) {
        _ = cycle.contains { $0.mayCompleteCycle && breakCycle(through: $0) }
      }
    }
  }

  // MARK: Opening

  /// The cycle that keeps an operation from its start, or else from its end.
  private static func cycle(through operation: Operation) -> WaitSearch.Cycle? {
    let nodes: [WaitNode] =
      operation.hasBegun ? [.end(operation)] : [.start(operation), .end(operation)]
    return nodes.lazy.compactMap { WaitSearch.cycle(through: $0) }
      // Cycles of dependencies alone are no cycles before they are in a queue: see ``CycleSearch``.
      .first { !$0.isOfDependencies }
  }

  /// Opens the cycle that an operation is in, if it is in one: by a change of order if that is all
  /// that closes it, and otherwise by letting the operation leave, since its wait was the last.
  ///
  /// - Returns: Whether there was one.
  @discardableResult
  private static func breakCycle(through operation: Operation) -> Bool {
    var isOpened = false
    while operation.waitsForTurn, let cycle = cycle(through: operation) {
      let layer = cycle.operations.lazy.compactMap { $0.layer }.first
      isOpened = true
      if layer?.breakCycle(cycle.operations) == true { continue }
      // A child of a parent that hasn't begun can't leave by itself, but the outermost of those
      // can.
      var leaving = operation
      while let parent = leaving.layer?.awaitedParent { leaving = parent }
      leaving.leaveCycle(because: OperationCycleError(cycle))
      break
    }
    return isOpened
  }
}

extension Operation {
  fileprivate final var mark: WaitMark { withLinks { $0.mark } }

  /// Whether a cycle may be closed by something that the operation begins to wait for.
  fileprivate final var mayCompleteCycle: Bool {
    switch mark {
    case .none: false
    case .barrier: PendingBarriers.mayBeInCycle
    case .code: true
    }
  }

  /// Whether the operation has not started, or has paused and not gone on.
  fileprivate final var waitsForTurn: Bool {
    if !hasBegun { return true }
    guard life.current.phase == .started else { return false }
    return withLinks { $0.scheduler }?.isPaused(self) ?? false
  }

  fileprivate final var isBehindBarrier: Bool {
    if PendingBarriers.isEmpty { return false }
    return withLinks { $0.scheduler }?.hasBarrier(inFrontOf: self) ?? false
  }
}

/// The barriers of this process that have not run, and whether one of them may be part of a cycle.
///
/// A cycle through barriers contains an operation that is behind one and that another operation
/// needs (what only barriers make wait are the operations behind them, in the order of their
/// queue). While no such operation has been seen, no other operation has to look for a cycle
/// because of barriers.
enum PendingBarriers {
  /// Twice the number of barriers, and 1 more when a needed operation was seen behind one.
  private static let word = Atomic<Int>(0)

  static var isEmpty: Bool { !isInterruptible && word.load(ordering: .sequentiallyConsistent) < 2 }

  static var mayBeInCycle: Bool {
    isInterruptible || word.load(ordering: .sequentiallyConsistent) & 1 == 1
  }

  static func began() { word.add(2, ordering: .sequentiallyConsistent) }

  static func ended() {
    var old = word.load(ordering: .relaxed)
    while true {
      // The last one takes with it what was seen.
      let new = old < 4 ? 0 : old - 2
      let (isDone, current) = word.weakCompareExchange(
        expected: old,
        desired: new,
        ordering: .sequentiallyConsistent
      )
      if isDone { return }
      old = current
    }
  }

  /// An operation that another one needs is behind a barrier.
  static func neededOneIsBehind() { word.bitwiseOr(1, ordering: .sequentiallyConsistent) }
}
