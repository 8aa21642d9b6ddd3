import Synchronization

/// A search for cycles that don't consist of dependencies alone.
///
/// Such a cycle contains an operation that executes, and whose code or children wait. Or it contains a
/// barrier, which waits for the operations in front of it.
///
/// When such a wait begins, the operations that have to end for it are marked, directly and through other
/// operations. From then on, a marked operation looks for a cycle whenever it gets something more to wait
/// for: a queue, a dependency, a group.
///
/// If two threads complete a cycle at the same time, at least one sees the other. The first thread marks,
/// then checks everything. The second thread adds its wait, then checks for the mark. An operation that no
/// such wait needs costs nothing.
package enum RunTimeCycles {
  /// Marks operations and the events that they need to end, then looks for cycles.
  ///
  /// An operation that has begun is marked, but the operations that it waits for aren't marked through it.
  ///
  /// The mark stays, because an operation ends only once, and an outdated mark costs only a check.
  ///
  /// Two threads may mark the same operations at the same time. A thread that finds a marked operation
  /// doesn't know how far the other thread has marked the operations behind it. An operation that isn't
  /// marked yet may get more to wait for then. Therefore, if several threads mark at the same time, each
  /// thread checks every operation that it has reached, once its marks are set. The thread whose mark came
  /// too late sees the earlier changes.
  ///
  /// - Parameters:
  ///   - operations: The operations.
  ///   - mark: The kind of wait that needs the operations.
  ///   - isOrder: Whether the wait only results from the order of adding, and doesn't need the operations
  ///     themselves.
  ///   - look: A closure that checks the new waits. Its search is used for the remaining checks too.
  /// - Complexity: O(v + e), v the number of operations that don't have this mark or that the search has to
  ///   check, and e the number of their waits.
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
      // This check follows the mark. An operation that is added behind a barrier at this time checks for the
      // mark after it was added, so at least one of the two is seen.
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

  /// A period in which a thread marks, which records whether other threads marked at the same time.
  private struct Marking {
    /// The number of periods that have begun, and in the last 16 bits the number of periods that haven't
    /// ended.
    private static let word = Atomic<UInt64>(0)
    private static let one: UInt64 = 1 << 16 + 1

    private let begin = Self.word.add(one, ordering: .sequentiallyConsistent).newValue

    /// - Returns: Whether no other period overlapped with this one. The result is false where threads are
    ///   simulated, because their checks don't depend on other threads of the process.
    func end() -> Bool {
      let end = Self.word.subtract(1, ordering: .sequentiallyConsistent).oldValue
      return !isInterruptible && begin & 0xffff == 1 && end == begin
    }
  }

  /// Returns the operations that have to end before an operation can start, without waits that its queue
  /// causes.
  ///
  /// Operations in front of a barrier have been marked by the barrier, and operations that hold a slot have
  /// begun.
  private static func needed(by operation: Operation) -> [Operation] {
    if operation.hasBegun { return [] }
    return operation.waitsBeforeStart(includingQueue: false).flatMap(\.needs)
      .flatMap { need in need.sources.map(\.node.operation) }
  }

  // MARK: Events that may complete a cycle

  /// Whether a wait in this process may complete a cycle that doesn't consist of dependencies alone.
  ///
  /// While there is no such wait, an operation that begins to wait needs no search.
  package static var areThinkable: Bool { OwnWaits.isAny || PendingBarriers.mayBeInCycle }

  /// Checks operations that were added to a queue, and wait for a slot or behind barriers there.
  ///
  /// - Parameters:
  ///   - operations: The new members. They weren't let in yet, because otherwise they would be blamed for
  ///     waits that they begin.
  ///   - scheduler: The scheduler of the queue.
  ///   - isAwaited: Whether the code of an operation waits for the whole queue.
  ///   - isBeforeBarrier: Whether a barrier waits for the new members.
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

  /// Checks a barrier that was added to a queue, and waits for the operations in front of it.
  ///
  /// - Parameters:
  ///   - operations: The operations in front of the barrier that no earlier barrier waits for.
  ///   - scheduler: The scheduler of the queue.
  ///   - hasMembersBehind: Returns whether operations were added behind the barrier in the meantime.
  static func checkBarrier(
    before operations: [Operation],
    in scheduler: Scheduler,
    hasMembersBehind: () -> Bool
  ) {
    mark(operations, .barrier, isOrder: true) { search in
      if hasMembersBehind() { checkWaiting(in: scheduler, &search) }
    }
  }

  /// Returns whether a need of many operations can't be satisfied, so that each of these operations has to be
  /// checked.
  static func mayBeInCycle(_ need: WaitNeed) -> Bool {
    var search = WaitSearch()
    return !search.canSatisfy([need])
  }

  /// Checks the members of a queue, because the queue can start operations from now on.
  ///
  /// Until then, their wait for the queue was treated as a wait that the program will end.
  static func checkWaiting(in scheduler: Scheduler) {
    var search = WaitSearch()
    checkWaiting(in: scheduler, &search)
  }

  private static func checkWaiting(in scheduler: Scheduler, _ search: inout WaitSearch) {
    checkQueues(of: scheduler.members.filter { $0.mayCompleteCycle && $0.waitsForTurn }, &search)
  }

  /// Checks an operation that is executing, and waits to resume after a pause.
  static func checkPaused(_ operation: Operation) {
    guard operation.mayCompleteCycle else { return }
    var search = WaitSearch()
    checkQueues(of: [operation], &search)
  }

  /// Checks the waits that the queues of some operations cause.
  ///
  /// Their dependencies were checked before.
  private static func checkQueues(of operations: [Operation], _ search: inout WaitSearch) {
    for operation in operations {
      let needs = operation.waitsInQueue().flatMap(\.needs)
      if !search.canSatisfy(needs) { breakCycle(through: operation) }
    }
  }

  /// Checks a dependency that was added to an operation.
  static func checkDependency(of operation: Operation, _ dependency: Operation) {
    mark(CollectionOfOne(dependency), operation.mark) { search in
      guard operation.mayCompleteCycle else { return }
      // Earlier waits have been checked before.
      if !search.canHappen(.end(dependency)) { breakCycle(through: operation) }
    }
  }

  /// Checks an operation whose layer knows of a new wait.
  package static func checkWait(of operation: Operation) {
    guard operation.isNeeded else { return }
    mark(needed(by: operation), operation.mark) { _ in
      if operation.mayCompleteCycle { breakCycle(through: operation) }
    }
  }

  /// Checks operations that were added to a queue which an executing operation needs as a whole.
  ///
  /// The executing operation owns the queue, or its code waits for the queue.
  ///
  /// - Complexity: O(n + e), n the number of new operations and e the number of their dependencies. O(v + e)
  ///   for the operations outside of the queue for which the new operations wait.
  package static func checkChildren(
    _ children: some Sequence<Operation>,
    in scheduler: Scheduler
  ) {
    var outward: [Operation] = []
    var awaited: [Operation] = []
    for child in children {
      // Each sibling is marked in this loop. The mark precedes the check, so a wait that begins after the
      // check finds the mark.
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

  /// Checks operations that this thread has marked or found marked, because another thread may have added
  /// waits in between.
  private static func checkReached(
    _ operations: some Sequence<Operation>,
    _ search: inout WaitSearch
  ) {
    var stuck = operations.filter { $0.mayCompleteCycle && !search.canHappen(.end($0)) }
    var before = Int.max
    // Each broken cycle lets some of the operations continue. If none of them continues, an override refuses
    // to leave its cycle.
    while !stuck.isEmpty, stuck.count < before {
      before = stuck.count
      // A new search is needed, because the previous check may have broken cycles that the old search still
      // contains.
      var search = WaitSearch()
      stuck.removeAll { search.canHappen(.end($0)) }
      // The operations that were marked last are the most likely to have been affected by the other thread.
      for cycle in search.cycles(behind: stuck.reversed()) {
        _ = cycle.contains { $0.mayCompleteCycle && breakCycle(through: $0) }
      }
    }
  }

  // MARK: Breaking cycles

  /// Returns the cycle that keeps an operation from starting, or else from ending.
  private static func cycle(through operation: Operation) -> WaitSearch.Cycle? {
    let nodes: [WaitNode] =
      operation.hasBegun ? [.end(operation)] : [.start(operation), .end(operation)]
    return nodes.lazy.compactMap { WaitSearch.cycle(through: $0) }
      // ``CycleSearch`` handles cycles of dependencies alone, and only once they are in a queue.
      .first { !$0.isOfDependencies }
  }

  /// Breaks the cycle that an operation is in, if it is in a cycle.
  ///
  /// If a change of order breaks the cycle, the layer makes that change. Otherwise the operation leaves,
  /// because its wait was the last one.
  ///
  /// - Returns: Whether the operation was in a cycle.
  @discardableResult
  private static func breakCycle(through operation: Operation) -> Bool {
    var isOpened = false
    while operation.waitsForTurn, let cycle = cycle(through: operation) {
      let layer = cycle.operations.lazy.compactMap { $0.layer }.first
      isOpened = true
      if layer?.breakCycle(cycle.operations) == true { continue }
      // A child can't leave by itself before its parent has begun, but the outermost of such parents can
      // leave.
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

  /// Whether a new wait of the operation may complete a cycle.
  fileprivate final var mayCompleteCycle: Bool {
    switch mark {
    case .none: false
    case .barrier: PendingBarriers.mayBeInCycle
    case .code: true
    }
  }

  /// Whether the operation hasn't started, or has paused and hasn't resumed.
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

/// The barriers of this process that haven't run, and whether a barrier may be part of a cycle.
///
/// A cycle through barriers contains an operation that is behind a barrier and that another operation needs.
/// The order of a queue alone can't complete a cycle, because barriers only delay the operations behind them.
/// While no needed operation has been seen behind a barrier, no other operation has to look for a cycle
/// because of barriers.
enum PendingBarriers {
  /// Twice the number of barriers, plus 1 if a needed operation was seen behind a barrier.
  private static let word = Atomic<Int>(0)

  static var isEmpty: Bool { !isInterruptible && word.load(ordering: .sequentiallyConsistent) < 2 }

  static var mayBeInCycle: Bool {
    isInterruptible || word.load(ordering: .sequentiallyConsistent) & 1 == 1
  }

  static func began() { word.add(2, ordering: .sequentiallyConsistent) }

  static func ended() {
    var old = word.load(ordering: .relaxed)
    while true {
      if old < 2 { internalError("more barriers ended than began") }
      // When the last barrier has ended, the record of needed operations is cleared.
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

  /// Records that a needed operation is behind a barrier.
  static func neededOneIsBehind() { word.bitwiseOr(1, ordering: .sequentiallyConsistent) }
}
