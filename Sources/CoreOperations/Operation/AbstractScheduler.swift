/// The scheduler of a queue as all that is below queues knows it: operations, the contexts of
/// threads and tasks, and the searches for cycles.
///
/// It says what an operation notifies its queue of, and what may be asked about a queue, and
/// nothing of how a queue works. ``Scheduler`` is the one subclass and overrides each method; an
/// event has the same name there and in ``SchedulerState``. It is a class and no protocol because
/// an operation refers to it with one atomic word.
package class AbstractScheduler: @unchecked Sendable {
  // Sendable: what is stored here doesn't change.

  /// Where completion blocks run: off the worker that finished the operation, and never on a queue
  /// that the program uses for something else.
  final let completionExecutor: any OperationExecutor

  init(completionExecutor: any OperationExecutor) { self.completionExecutor = completionExecutor }

  /// The scheduler as an object of the one subclass, without a look at its type, which debug builds
  /// take.
  @inline(__always)
  final func asOnlySubclass<Subclass: AbstractScheduler>() -> Subclass {
    unsafe unsafeDowncast(self, to: Subclass.self)
  }

  // MARK: Events of operations

  /// The operation was cancelled, or won't execute for another reason: it leaves ahead of others.
  func leavesAhead(_ operation: Operation) { isOverridden() }

  /// The operation has another priority, which is read here: of several that are set at once, the
  /// one that stays is in force.
  func priorityChanged(of operation: Operation) { isOverridden() }

  /// The last dependency of the operation has finished.
  func offered(_ operation: Operation) { isOverridden() }

  /// What kept the operation parked may be gone.
  ///
  /// - Parameters:
  ///   - operation: The operation.
  ///   - afterReview: Whether its layer reviews it first.
  func reoffered(_ operation: Operation, afterReview: Bool) { isOverridden() }

  /// The end of the operation was reported.
  ///
  /// - Parameters:
  ///   - operation: The operation.
  ///   - hasCompletion: Whether it stays a member until its completion block returned.
  ///   - holdsQuiet: Whether its layer keeps slot and membership.
  ///   - released: Operations of the same queue that waited for that end, and for nothing else.
  func finished(
    _ operation: Operation,
    hasCompletion: Bool,
    holdsQuiet: Bool,
    releasing released: borrowing FewObjects<Operation>
  ) { isOverridden() }

  /// The waiters of an operation that has ended are awake, and its completion block is to run.
  func completionIsDue(_ completion: CompletionBlock, of operation: Operation) { isOverridden() }

  /// Code of the program is about to block the thread of a worker.
  func workerBlocks(_ worker: ThreadOccupant) { isOverridden() }

  // MARK: What contexts ask

  /// The queue, while it has something to do; a queue that is idle may be gone.
  var owner: (any QueueObject)? { isOverridden() }

  /// Where workers run at this moment.
  var executor: any OperationExecutor { isOverridden() }

  /// The operation of a closure that runs; it becomes one now if nothing has looked at it before.
  func operation(ofRunning number: ClosureNumber) -> Operation? { isOverridden() }

  // MARK: What searches for cycles ask

  /// Whether the queue's workers run on the main thread.
  var runsOnMainThread: Bool { isOverridden() }

  /// Whether the queue has nothing to do.
  var isIdle: Bool { isOverridden() }

  /// All members in the order of adding.
  var members: [Operation] { isOverridden() }

  /// The code of an operation waits for the queue: every operation that is added from now on is
  /// needed.
  ///
  /// - Returns: The members at this moment.
  func markAsNeeded() -> [Operation] { isOverridden() }

  /// What keeps an operation from its turn, as far as the queue is concerned.
  func waits(of operation: Operation, isLaterIncluded: Bool) -> [Wait] { isOverridden() }

  /// Whether a barrier has to run before the operation may start.
  func hasBarrier(inFrontOf operation: Operation) -> Bool { isOverridden() }

  /// Whether the queue hasn't heard that the dependencies of an operation have finished.
  func awaitsOffer(_ operation: Operation) -> Bool { isOverridden() }

  /// Whether an operation has paused and not gone on since.
  func isPaused(_ operation: Operation) -> Bool { isOverridden() }

  /// Begins or ends a time in which nothing is started, whatever else is set; such times may
  /// overlap.
  func sweep(isBeginning: Bool) { isOverridden() }

  private func isOverridden(_ name: StaticString = #function) -> Never {
    trap("\(name) of a scheduler isn't overridden")
  }
}

/// Tells the closures apart that run in a queue; never 0.
package typealias ClosureNumber = UInt64
