/// Cycles of waits that the layer closes, or asks about.
package enum WaitCycles {
  /// Whether there is a wait in this process that could complete a cycle which isn't made of
  /// dependencies alone: while there is none, no operation that begins to wait has to look.
  package static var areThinkable: Bool { OwnWaits.isAny || PendingBarriers.mayBeInCycle }

  /// An operation got something to wait for that its layer knows of.
  package static func lookAtWait(of operation: Operation) {
    RunTimeCycles.lookAtOther(of: operation)
  }

  /// Operations have come into a queue of which something that executes needs all that is in it:
  /// its own, or one that its code waits for.
  ///
  /// - Complexity: O(n + e), n their number and e that of their dependencies, and O(v + e) of what
  ///   those outside of the queue wait for.
  package static func lookAtChildren(_ children: some Sequence<Operation>, in queue: OperationQueue)
  {
    RunTimeCycles.lookAtChildren(children, in: queue.scheduler)
  }

  /// The cycle that keeps something from ever happening; nil when it can happen.
  ///
  /// All waits of the cycle were there at once.
  ///
  /// - Returns: The operations, each of which waits for the next; the first is the last again.
  /// - Complexity: O(v + e) of what can be reached, less when the answer is found earlier.
  package static func cycle(through node: WaitNode) -> [Operation]? {
    WaitSearch.cycle(through: node)?.operations
  }

  /// The first cycle that is come to from a node by what explanations know, which is less than what
  /// ``cycle(through:)`` looks for, and more: code that waits may give up.
  ///
  /// - Parameters:
  ///   - start: Where the search begins.
  ///   - next: What keeps a node; the first of it is followed first.
  /// - Returns: The nodes along it; the first is the last again.
  /// - Complexity: O(v + e) of what can be reached.
  package static func firstCycle<Node: Hashable>(
    from start: Node,
    next: @escaping (Node) -> [Node]
  ) -> [Node]? {
    var search = StrongComponents(next)
    return search.firstCycle(from: start)
  }
}

/// What can still happen, as far as can be seen while this is asked; each operation is looked at
/// once.
package struct WaitOutlook {
  private var search = WaitSearch()

  package init() {}

  /// Whether something can still happen.
  ///
  /// - Complexity: O(v + e) of what can be reached and hasn't been looked at before.
  package mutating func canHappen(_ node: WaitNode) -> Bool { search.canHappen(node) }
}

extension Operation {
  /// What keeps the operation at this moment, as far as the core knows, in its order; what the
  /// layer knows is behind ``Wait/Kind/readiness`` and ``Wait/Kind/enqueueing``.
  ///
  /// - Complexity: That of ``waitCauses``.
  package final var currentWaits: [Wait] { waitsForPeople() }

  /// Whether code that executes, or a barrier, needs the end of this operation.
  package final var isNeeded: Bool { withLinks { $0.mark } > .none }
}
