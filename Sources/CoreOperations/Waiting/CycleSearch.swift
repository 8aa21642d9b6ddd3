/// A search for operations that wait for each other in a cycle.
///
/// The last edge of a cycle goes from an operation that other operations wait for to an operation that itself
/// waits. Only such edges mark the operations at their ends, and a search begins only at marked operations.
/// Chains, trees and fans have no such edges, in whichever order they are built. If neither end is in a
/// queue, the other nearby operations of the cycle are marked too. Then a search finds the cycle whichever of
/// the operations is enqueued alone.
enum CycleSearch {
  /// Cancels all operations that are in a cycle and can be reached from the given operations.
  ///
  /// The dependencies that complete a cycle are removed. Otherwise the operations of the cycle would keep
  /// each other alive, because each operation retains its dependencies.
  ///
  /// - Complexity: O(v + e), v the number of waiting operations that can be reached and e that of
  ///   their dependencies.
  static func cancelCycles(from starts: [Operation]) {
    var search = StrongComponents<Operation> { waits(of: $0) }
    for cycle in search.cycles(from: starts) {
      let error = OperationCycleError(path: path(through: cycle))
      withoutStarts(of: cycle) {
        for operation in cycle { operation.leaveCycle(because: error) }
      }
    }
    for (operation, dependency) in search.closing where operation.isCancelledFlag {
      operation.unlinkDependency(dependency)
      operation.valuesMayHaveChanged()
    }
  }

  /// The number of operations that are checked for a cycle that isn't in a queue yet.
  ///
  /// This number limits the cost of a suspicious edge, however large the graph is.
  private static let nearby = 64

  /// Marks the operations that may be in the same cycle as a new edge, if that edge completes a cycle.
  ///
  /// - Complexity: O(1).
  static func markCycle(completedBy operation: Operation, waitingFor dependency: Operation) {
    var reached: [Operation] = [dependency]
    var seen: Set<Operation> = [dependency]
    var next = 0
    var isClosed = false
    while next < reached.count, reached.count < nearby {
      for other in waits(of: reached[next], atMost: nearby) {
        if other === operation {
          isClosed = true
        } else if seen.insert(other).inserted {
          reached.append(other)
        }
      }
      next += 1
    }
    guard isClosed else { return }
    for operation in reached { operation.withLinks { $0.mayBeInCycle = true } }
    // If an operation was enqueued before it was marked, its arrival began no search.
    if reached.contains(where: { $0.life.current.phase == .enqueued }) {
      cancelCycles(from: [operation])
    }
  }

  /// Keeps the queues of some operations from starting anything while `body` runs.
  ///
  /// Otherwise the first operation to leave a cycle would let the next one start before that is cancelled
  /// too.
  private static func withoutStarts(of operations: [Operation], _ body: () -> Void) {
    var schedulers: [Scheduler] = []
    for operation in operations {
      guard let scheduler = operation.withLinks({ $0.scheduler }),
        !schedulers.contains(where: { $0 === scheduler })
      else { continue }
      schedulers.append(scheduler)
    }
    Sweep.during(schedulers, body)
  }

  /// Returns the operations that an operation waits for at this moment; none if the operation has begun.
  ///
  /// - Parameters:
  ///   - operation: The operation.
  ///   - limit: The maximum number of its dependencies that are checked.
  /// - Returns: The operations that it waits for.
  private static func waits(of operation: Operation, atMost limit: Int = .max) -> [Operation] {
    if operation.hasBegun { return [] }
    return operation.waitsForConnections(atMost: limit).filter(\.isCurrent).flatMap(\.operations)
  }

  /// Returns the labels along one path around a cycle; the first label is also the last one.
  private static func path(through cycle: [Operation]) -> [OperationLabel] {
    let members = Set(cycle)
    let path = cycle.last.flatMap { last in
      StrongComponents.firstCycle(from: last) { waits(of: $0).filter(members.contains) }
    }
    return (path ?? cycle).map(\.nameAndTag)
  }
}

extension Operation {
  /// Checks whether a new edge has completed a cycle.
  ///
  /// The edge must have been linked before.
  ///
  /// If two threads add the last two edges of a cycle, at least one thread sees both edges. Each thread first
  /// links its edge. Then it looks for dependents, under the lock under which they are linked. Last, it reads
  /// the count that the other thread changed before it linked its edge.
  final func noteEdge(to dependency: Operation) {
    let (isAwaited, isNeeded) = withLinks { links in
      let isPrerequisite = links.extra.map { $0.conditionNeedCount > 0 } ?? false
      return (isPrerequisite || !links.dependents.isEmpty, links.mark > .none)
    }
    if isAwaited || isAwaitedByOthers, dependency.waitsForOthers {
      for end in [self, dependency] { end.withLinks { $0.mayBeInCycle = true } }
      if life.current.phase == .enqueued || dependency.life.current.phase == .enqueued {
        CycleSearch.cancelCycles(from: [self])
      } else {
        CycleSearch.markCycle(completedBy: self, waitingFor: dependency)
      }
    }
    if isNeeded { RunTimeCycles.checkDependency(of: self, dependency) }
  }

  /// The parent that has to start before the operation can leave the queue, even if the operation is
  /// cancelled.
  final var parentToLeave: Operation? {
    life.current.phase == .created ? layer?.awaitedParent : nil
  }

  private var isAwaitedByOthers: Bool { layer?.isAwaitedInLayer ?? false }

  private var waitsForOthers: Bool {
    if readiness.current.unfinished > 0 { return true }
    return layer?.layerWaits(.connections).contains(where: \.isCurrent) ?? false
  }

  /// Cancels an operation that is in a cycle.
  // The method of the layer has another name. With the same name, a call on the layer would never reach this
  // method.
  final func leaveCycle(because error: OperationCycleError) {
    if let layer {
      layer.cancelAsMember(of: error)
    } else {
      noteReason(error)
      cancel()
    }
  }
}
