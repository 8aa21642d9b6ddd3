/// What an operation has besides its atomic words; guarded by one lock.
@safe
package struct OperationLinks {
  // The small ones are last, where what follows in the object fills up their word.
  var dependents = DependentList()
  /// Retained for an operation of a layer above only: others forget it before they leave their queue,
  /// which keeps it alive until then, and counting it cost each of them two atomic instructions.
  private var schedulerReference: Unmanaged<Scheduler>?
  /// Made on first use.
  var extra: OperationExtra?
  /// Whether the operation is over: nobody can begin to wait for it any more.
  var isClosed = false
  /// Whether an edge from or to the operation can have closed a ring.
  var mayBeInRing = false
  /// Whether something that executes needs the end of this operation; see ``RunTimeRings``.
  var isNeeded = false
  /// Whether the blocks of a ``BlockOperation`` were taken out, to be run or released.
  var hasTakenBlocks = false
  private var retainsScheduler = false
  var priority = Operation.QueuePriority.normal

  init() {}

  /// The scheduler of the queue that the operation is in.
  var scheduler: Scheduler? { unsafe schedulerReference?.takeUnretainedValue() }

  /// Whether ``scheduler`` is a given one, without counting references.
  func isIn(_ scheduler: Scheduler) -> Bool {
    unsafe schedulerReference?.toOpaque() == Unmanaged.passUnretained(scheduler).toOpaque()
  }

  /// The operation is going to be a member of a queue.
  mutating func enter(_ scheduler: Scheduler, retaining isRetained: Bool) {
    retainsScheduler = isRetained
    unsafe schedulerReference = isRetained ? .passRetained(scheduler) : .passUnretained(scheduler)
  }

  /// The operation has nothing to do with its queue any more.
  ///
  /// - Returns: What to release, without the lock.
  mutating func leave() -> Scheduler? {
    defer { unsafe schedulerReference = nil }
    guard retainsScheduler else { return nil }
    retainsScheduler = false
    return unsafe schedulerReference?.takeRetainedValue()
  }

  mutating func makeExtra() -> OperationExtra {
    if let extra { return extra }
    let made = OperationExtra()
    extra = made
    return made
  }
}

/// What few operations have.
///
/// Only touched under the lock of the ``OperationLinks`` that it is in.
final class OperationExtra {
  var name: String?
  var completionBlock: (@Sendable () -> Void)?
  var cancellationReason: (any Error)?
  var qualityOfService = QualityOfService.default
  var threadPriority = 0.5
  var waiters = WaitList()
  /// What the operation's own code waits for.
  var ownWaits: [OwnWait] = []
  var valueObservers: ValueObservers?
  /// The blocks of a ``BlockOperation`` but the first.
  var otherBlocks: [@Sendable () -> Void] = []
}
