/// What a queue decides: the next step of a worker, and what has to happen outside of its lock.
extension SchedulerState {
  /// What the caller does after unlocking.
  package struct Effects {
    /// Ask for one more worker there.
    var requestWorker: WorkerSource?
    /// Members have left: the queue's properties may have changed.
    var haveMembersLeft = false
    /// What a worker that is told to ``Step/run(_:)`` runs.
    package var closure: QueueClosures.Closure?
    /// Let go of a member that left.
    package var garbage: Operation?
    /// Have the layer return what a start was granted with: a dependency came before it.
    package var grantToReturn: Operation?
    /// Look whether a cycle is completed by its wait for its next turn, which has just begun.
    package var waitsForNextTurn: Operation?
    /// The queue is empty.
    package var idle: Idle?

    package init() {}
  }

  package struct Idle {
    /// Let go of the queue.
    var owner: OperationQueue?
    /// Wake what waited for that.
    var waiters: WaitList<Void>?
  }

  /// What a worker does next.
  ///
  /// A start borrows its operation: what is started can't be released before the worker has
  /// reported. What is evaluated may leave meanwhile, and is retained.
  package enum Step: Sendable {
    /// Nothing to start: leave.
    case leave
    /// Nothing to start: look out for work for a moment, and come back.
    case linger
    /// Have the layer evaluate the operation's conditions; no slot is held.
    case evaluate(Operation)
    /// Start the operation on these terms.
    case start(Member, Terms)
    /// Run the closure among the effects, which is no operation.
    case run(ClosureNumber)
    /// End the operation that a closure has become while it ran, and that has returned.
    case end(Member)
    /// Run a barrier.
    case barrier(Barrier)
  }

  /// How a worker starts an operation.
  package enum Terms: Sendable {
    /// Without a slot and without a question, because the operation will not execute.
    case ahead
    /// With a slot: everything is known of the operation, so that the worker does all of it.
    case known
    /// With a slot, once the operation has said that it may start.
    case asked
    /// With a slot; the layer has nothing to say.
    case unasked
    /// With a slot; the layer was asked before.
    case granted
  }

  /// What ``OperationQueue/addBarrierBlock(_:)`` was given.
  package final class Barrier: @unchecked Sendable {
    // Sendable: the block is touched by the one worker that runs it.
    private var block: (@Sendable () -> Void)?

    init(_ block: @escaping @Sendable () -> Void) { self.block = block }
    func run() { block?() }
    func release() { block = nil }
  }
}
