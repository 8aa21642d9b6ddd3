/// A cause that keeps an operation from starting, from resuming or from ending at this moment.
///
/// The searches for cycles, ``Operation/waitCauses``, and the explanations of the layer read these values.
/// Each wait has one producer: the operation (`Operation+Waits`), its queue (`SchedulerState+Waits`) or its
/// layer (``LayeredOperation/layerWaits(_:)``). To add a kind of wait, add a case of ``Kind``, produce it in
/// one of these three places, and add the text wherever the compiler asks for it.
package struct Wait: Sendable {
  /// The subject of a wait.
  package enum Kind: Sendable {
    // Produced by the operation.

    /// The operation waits for dependencies to end.
    case dependencies
    /// The code of the operation, or a task that this code has created, waits for something.
    case code
    /// The operation isn't in a queue, and `start()` wasn't called.
    case enqueueing

    // Produced by the queue.

    /// The queue is suspended.
    case resumption(OperationQueue)
    /// The operation waits for a barrier, which runs first. The wait has no operations if the barrier is
    /// running.
    case barrier(OperationQueue)
    /// The operation waits for a slot, which the operations of the wait hold. The wait has no operations if a
    /// barrier is running, or if the limit is 0.
    case slot(OperationQueue, limit: Int)
    /// An override of `isReady`, or the layer, has reported that the operation isn't ready.
    case readiness
    /// The operation waits for a worker, which was requested.
    case worker(OperationQueue)
    /// The operation waits for a worker on the main thread, which is blocked by a wait.
    case mainThread(waitsFor: String)

    // Produced by the layer.

    /// The operation waits for the end of a prerequisite operation, which a condition added.
    case prerequisite(of: String)
    /// The operation waits for the start of the group that contains it.
    case parent
    /// The operation waits for a claim.
    case claim(Claim)
    /// The operation waits for a change of a condition. The text contains the condition, and the remedy ends the
    /// wait.
    case change(
      of: String,
      text: String,
      reason: String,
      isReasonError: Bool,
      remedy: String?,
      since: Duration
    )
    /// The operation waits for its children to end.
    case children
  }

  /// A description of a claim that an operation waits for.
  package struct Claim: Sendable {
    /// The name of the claim.
    package let name: String
    /// The units of a pool that the operation needs; nil if the claim isn't counted in units.
    package let units: Units?
    /// The operations that hold a part of the claim, in the order of acquisition.
    ///
    /// The groups of the operation itself are left out.
    ///
    /// The array is empty if the claim is available, and the operation only waits behind earlier operations.
    package let holders: [Operation]
    /// The first operation in the queue of waiters, if it is in front of this operation.
    package let front: Operation?
    /// The time at which the claim becomes available by the passage of time alone; nil if it doesn't.
    package let availableAt: Duration?
    /// The end and the reason of the last hold of a rate, which may be over; nil if there was none.
    package let hold: (end: Duration, reason: String)?

    package init(
      name: String,
      units: Units? = nil,
      holders: [Operation] = [],
      front: Operation?,
      availableAt: Duration? = nil,
      hold: (end: Duration, reason: String)? = nil
    ) {
      self.name = name
      self.units = units
      self.holders = holders
      self.front = front
      self.availableAt = availableAt
      self.hold = hold
    }

    package struct Units: Sendable {
      package let needed: Int
      /// The number of free units; negative if the capacity was lowered.
      package let free: Int
      package let capacity: Int

      package init(needed: Int, free: Int, capacity: Int) {
        self.needed = needed
        self.free = free
        self.capacity = capacity
      }
    }
  }

  /// A part of the waits that a layer produces.
  package enum Part: CaseIterable, Sendable {
    /// The connections that the program has made, other than dependencies.
    ///
    /// The connections are read whenever an edge is added to an operation that other operations wait for.
    /// Therefore reading them may only access the operation itself.
    case connections
    /// The resources that the operation acquires together with its slot, to start or to resume.
    case turn
    /// The operations that the operation runs, and anything else that has to end before it.
    case execution
  }

  /// The event that ends a wait.
  package enum End: Sendable {
    /// The wait doesn't depend on operations. The program may end the wait at any time, or the wait ends by
    /// itself.
    case byItself
    /// The wait ends when all of these operations have started.
    case starts([Operation])
    /// The wait ends when all of these operations have ended.
    case ends([Operation])
    /// The wait ends when all of these operations have left their queues.
    case leaves([Operation])
    /// The wait ends when all of these needs are satisfied.
    case needs([WaitNeed])
  }

  package let kind: Kind
  /// The operations that explanations show: operations that are awaited, or that are in the way.
  package let operations: [Operation]
  /// Whether the wait keeps the operation at this moment.
  ///
  /// If the value is false, the wait begins once other waits have ended. Such a wait can already be part of a
  /// cycle.
  package let isCurrent: Bool
  private let end: End

  package init(_ kind: Kind, of operations: [Operation], until end: End, isCurrent: Bool = true) {
    self.kind = kind
    self.operations = operations
    self.isCurrent = isCurrent
    self.end = end
  }

  /// A wait for no operation.
  package init(_ kind: Kind) { self.init(kind, of: [], until: .byItself) }

  /// The needs that have to be satisfied before the wait ends; empty if the wait needs no operation, and so
  /// can't be part of a cycle.
  package var needs: [WaitNeed] {
    switch end {
    case .byItself: return []
    case .starts(let operations): return operations.map { WaitNeed(.start($0)) }
    case .ends(let operations):
      let isDependency = if case .dependencies = kind { true } else { false }
      return operations.map { WaitNeed(.end($0), isDependency: isDependency) }
    case .leaves(let operations): return operations.map { WaitNeed(.idle($0)) }
    case .needs(let needs): return needs
    }
  }

  var isForSlot: Bool { if case .slot = kind { true } else { false } }
  var isForWorker: Bool { if case .worker = kind { true } else { false } }
  var isForMainThread: Bool { if case .mainThread = kind { true } else { false } }

  /// The claim that the operation waits for; nil for another kind of wait.
  package var claim: Claim? { if case .claim(let claim) = kind { claim } else { nil } }
}

extension Wait {
  /// The wait as a public cause; nil for a wait of the layer.
  ///
  /// For a wait of the layer, the core only reports that the operation isn't ready, or isn't in a queue.
  package var cause: OperationWaitCause? {
    switch kind {
    case .dependencies: .dependencies(operations)
    case .code: .awaiting(operations)
    case .enqueueing: .notEnqueued
    case .resumption(let queue): .suspended(queue)
    case .barrier(let queue): .barrier(queue, behind: operations)
    case .slot(let queue, let limit): .limit(queue, limit, holders: operations)
    case .readiness: .notReady
    case .worker(let queue): .worker(queue)
    case .mainThread(let label): .mainThread(waitsFor: label)
    case .prerequisite, .parent, .claim, .change, .children: nil
    }
  }
}

/// An event that has to happen before an operation can continue.
package enum WaitNode: Hashable, Sendable {
  /// The operation starts, or resumes after a pause.
  case start(Operation)
  /// The operation finishes.
  case end(Operation)
  /// The operation releases its slot and leaves its queue.
  case idle(Operation)

  var operation: Operation {
    switch self {
    case .start(let operation), .end(let operation), .idle(let operation): operation
    }
  }
}

/// A need of a node, which is satisfied when enough of its sources have happened.
///
/// The units of these sources have to reach the number of needed units.
package struct WaitNeed: Hashable, Sendable {
  package struct Source: Hashable, Sendable {
    let node: WaitNode
    /// The number of units that the source adds to the need.
    let units: Int

    package init(_ node: WaitNode, units: Int) {
      self.node = node
      self.units = units
    }
  }

  let sources: [Source]
  let units: Int
  /// A number that distinguishes two waits for the same node; 0 if there can't be two.
  let stamp: UInt64
  /// Whether the need comes from a dependency.
  let isDependency: Bool

  /// Creates a need, which is limited to the sum of the units of all sources.
  package init(units: Int, from sources: [Source]) {
    self.sources = sources
    self.units = min(units, sources.reduce(0) { $0 + $1.units })
    stamp = 0
    isDependency = false
  }

  package init(_ node: WaitNode, stamp: UInt64 = 0, isDependency: Bool = false) {
    sources = [Source(node, units: 1)]
    units = 1
    self.stamp = stamp
    self.isDependency = isDependency
  }

  init(anyOf nodes: [WaitNode]) {
    self.init(units: 1, from: nodes.map { Source($0, units: 1) })
  }
}
