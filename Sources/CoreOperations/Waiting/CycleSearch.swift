/// Finds operations that wait for each other in a cycle.
///
/// The last edge of a cycle goes from an operation that others wait for to one that itself waits.
/// Only such edges mark their ends, and only marked operations are searched from: chains, trees and
/// fans have none, in whichever order they are built. Where neither end is in a queue, the others
/// of the cycle are marked as well, as far as they are near: whichever is enqueued alone is
/// searched from.
enum CycleSearch {
  /// Cancels all operations that are in a cycle and can be reached from some.
  ///
  /// The dependencies that complete a cycle are removed then, so that its operations, each of which
  /// retains what it depends on, don't keep each other alive.
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

  /// How many operations are looked at for others of a cycle that is in no queue yet: a suspicious
  /// edge costs no more than that, however large the graph.
  private static let nearby = 64

  /// Marks what may be in the same cycle as a new edge, if that completes one.
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
    // One may have been enqueued before it was marked, and no search has begun at it then.
    if reached.contains(where: { $0.life.current.phase == .enqueued }) {
      cancelCycles(from: [operation])
    }
  }

  /// Keeps the queues of some operations from starting anything: the first of a cycle to leave
  /// would otherwise let the next one start before it is cancelled too.
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

  /// What an operation waits for at this moment; nothing if it doesn't wait any more.
  ///
  /// - Parameters:
  ///   - operation: The operation.
  ///   - limit: How many of its dependencies are looked at.
  /// - Returns: What it waits for.
  private static func waits(of operation: Operation, atMost limit: Int = .max) -> [Operation] {
    if operation.hasBegun { return [] }
    return operation.waitsForConnections(atMost: limit).filter(\.isCurrent).flatMap(\.operations)
  }

  /// The labels along one way around, beginning and ending with the same.
  private static func path(through cycle: [Operation]) -> [OperationLabel] {
    let members = Set(cycle)
    let path = cycle.last.flatMap { last in
      StrongComponents.firstCycle(from: last) { waits(of: $0).filter(members.contains) }
    }
    return (path ?? cycle).map(\.nameAndTag)
  }
}

extension Operation {
  /// Looks whether a new edge can have completed a cycle; it must have been linked before.
  ///
  /// Of two threads that add the last two edges of a cycle, at least one sees both: each links,
  /// then looks for dependents under the lock under which they are linked, then at what the other
  /// counted before it linked.
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

  /// The parent without whose start an operation can't leave, although it is cancelled.
  final var parentToLeave: Operation? {
    life.current.phase == .created ? layer?.awaitedParent : nil
  }

  private var isAwaitedByOthers: Bool { layer?.isAwaitedInLayer ?? false }

  private var waitsForOthers: Bool {
    if readiness.current.unfinished > 0 { return true }
    return layer?.layerWaits(.connections).contains(where: \.isCurrent) ?? false
  }

  /// Cancels an operation that is in a cycle.
  // Not called as the layer's own method, which a call on the layer would then never reach.
  final func leaveCycle(because error: OperationCycleError) {
    if let layer {
      layer.cancelAsMember(of: error)
    } else {
      noteReason(error)
      cancel()
    }
  }
}
