/// What an operation has besides its atomic words; guarded by one lock.
package struct OperationLinks {
  /// Whether the operation is over: nobody can begin to wait for it any more.
  var isClosed = false
  /// Whether an edge from or to the operation can have closed a ring.
  var mayBeInRing = false
  /// Whether something that executes needs the end of this operation; see ``RunTimeRings``.
  var isNeeded = false
  var priority = Operation.QueuePriority.normal
  var dependents = DependentList()
  /// The scheduler of the queue that the operation is in.
  var scheduler: Scheduler?
  /// Made on first use.
  var extra: OperationExtra?

  init() {}

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
}
