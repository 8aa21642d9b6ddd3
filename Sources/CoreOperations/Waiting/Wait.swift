/// Something that keeps an operation from its start, from its next turn or from its end, as it is
/// at this moment.
///
/// All that asks what waits for what reads these values: the searches for cycles,
/// ``Operation/waitCauses``, and the explanations of the layer. Each wait has one producer: the
/// operation (`Operation+Waits`), its queue (`SchedulerState+Waits`) or its layer
/// (``LayeredOperation/layerWaits(_:)``). A new kind of wait is a case of ``Kind``, which one of
/// these produces, and words for people where the compiler asks for them.
package struct Wait: Sendable {
  /// What is waited for.
  package enum Kind: Sendable {
    // What the operation knows.

    /// The ends of dependencies.
    case dependencies
    /// What the operation's own code waits for, or a task that it has made.
    case code
    /// A queue; `start()` was not called either.
    case enqueueing

    // What the queue knows.

    /// The queue is suspended.
    case resumption(OperationQueue)
    /// A barrier, which runs first; no operations when it is running.
    case barrier(OperationQueue)
    /// A slot, which the operations hold; none when a barrier is running, or when the limit is 0.
    case slot(OperationQueue, limit: Int)
    /// An override of `isReady`, or the layer, has said that the operation isn't ready.
    case readiness
    /// A worker, which is on its way.
    case worker(OperationQueue)
    /// A worker on the main thread, which is blocked by a wait.
    case mainThread(waitsFor: String)

    // What the layer knows.

    /// The end of a prerequisite that a condition brought.
    case prerequisite(of: String)
    /// The start of the group that the operation is a child of.
    case parent
    /// A claim.
    case claim(Claim)
    /// The ends of children.
    case children
  }

  /// What keeps an operation from one of its claims.
  package struct Claim: Sendable {
    /// What the claim is called.
    package let name: String
    /// How much of a pool it needs; nil for what isn't counted in units.
    package let units: Units?
    /// Those that hold some of it, besides the operation's own groups, in the order of taking;
    /// empty when there is room, and others only come first.
    package let holders: [Operation]
    /// The first in line, when it comes before the operation.
    package let front: Operation?
    /// When time alone makes it available; nil when time has nothing to do with it.
    package let availableAt: Duration?

    package init(
      name: String,
      units: Units? = nil,
      holders: [Operation] = [],
      front: Operation?,
      availableAt: Duration? = nil
    ) {
      self.name = name
      self.units = units
      self.holders = holders
      self.front = front
      self.availableAt = availableAt
    }

    package struct Units: Sendable {
      package let needed: Int
      /// Negative when the capacity was lowered.
      package let free: Int
      package let capacity: Int

      package init(needed: Int, free: Int, capacity: Int) {
        self.needed = needed
        self.free = free
        self.capacity = capacity
      }
    }
  }

  /// Which of its waits a layer is asked for.
  package enum Part: CaseIterable, Sendable {
    /// What the program connects it with, besides dependencies.
    ///
    /// It is read whenever an edge is added to an operation that others wait for, and so may cost
    /// no more than a look at the operation.
    case connections
    /// What it takes together with its slot, for its start or for its next turn.
    case turn
    /// What it runs, and what has to end before itself.
    case execution
  }

  /// What ends a wait.
  package enum End: Sendable {
    /// Nothing that an operation does: the program may end it at any time, or it passes by itself.
    case byItself
    /// The starts of all of these.
    case starts([Operation])
    /// The ends of all of these.
    case ends([Operation])
    /// That all of these have left their queues.
    case leaves([Operation])
    /// All that is needed here.
    case needs([WaitNeed])
  }

  package let kind: Kind
  /// The operations that it comes down to, for explanations: those that are waited for, or that are
  /// in the way.
  package let operations: [Operation]
  /// Whether it keeps the operation at this moment; otherwise it does once others are over, which
  /// is early enough to be part of a cycle.
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

  /// What has to happen to other operations before the wait is over; nothing where it needs none of
  /// them, so that it is part of no cycle.
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

  /// The claim that is waited for; nil for another kind of wait.
  package var claim: Claim? { if case .claim(let claim) = kind { claim } else { nil } }
}

extension Wait {
  /// The wait as the core's users see it; nil for one of the layer, of which the core says only
  /// that the operation isn't ready, or in no queue.
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
    case .prerequisite, .parent, .claim, .children: nil
    }
  }
}

/// Something that has to happen before an operation can go on.
package enum WaitNode: Hashable, Sendable {
  /// The operation starts, or goes on after a pause.
  case start(Operation)
  /// The operation finishes.
  case end(Operation)
  /// The operation gives back its slot and leaves its queue.
  case idle(Operation)

  var operation: Operation {
    switch self {
    case .start(let operation), .end(let operation), .idle(let operation): operation
    }
  }
}

/// One thing that a node needs: so many of some others that what they give is enough.
package struct WaitNeed: Hashable, Sendable {
  package struct Source: Hashable, Sendable {
    let node: WaitNode
    /// What comes of it, in units of the need.
    let units: Int

    package init(_ node: WaitNode, units: Int) {
      self.node = node
      self.units = units
    }
  }

  let sources: [Source]
  let units: Int
  /// Tells two waits for the same apart; 0 where that can't happen.
  let stamp: UInt64
  /// Whether a dependency is what makes it wait.
  let isDependency: Bool

  /// At most as many units as come of all sources are needed.
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
