// What a layer may do to its own operations; ``LayeredOperation`` says when.

extension Operation {
  /// Undertakes to add the operation to a queue.
  ///
  /// - Returns: Whether the caller has to do that; false if the operation is in a queue, was
  ///   started, or was claimed before.
  package final func claim() -> Bool {
    withLinks { links in
      if links.isClaimed || life.current.phase != .created { return false }
      links.isClaimed = true
      return true
    }
  }

  /// The queue that the operation is in.
  package final var containingQueue: OperationQueue? { scheduler?.owner }
}

extension LayeredOperation {
  /// Makes the core call the hooks; once, while initialising.
  package func attachLayer() {
    layer = self
    isLayered = true
  }

  /// The operation waits for a parent or a helper from now on: looks whether that completes a
  /// cycle.
  package func noteWait(for other: Operation) { noteEdge(to: other) }

  /// Gives the hold back.
  ///
  /// - Parameters:
  ///   - leavesAhead: Whether the operation is started ahead of others and without a slot, because
  ///     it won't do anything. Its dependencies still hold.
  ///   - hasWaited: Whether ``decideStart(hasWaited:)`` is called as for an operation that has
  ///     waited, because some of what the layer knows is older than the rest.
  package func releaseReadinessHold(leavesAhead: Bool, hasWaited: Bool = false) {
    let answer = LayerAnswer(leavesAhead: leavesAhead, hasWaited: hasWaited)
    if ThreadOccupant.answer(for: self, answer) { return }
    if let scheduler {
      scheduler.holdReleased(self, answer)
    } else {
      _ = readiness.step { $0.holdReleased() }
    }
  }

  /// Stops waiting for what is left of the dependencies; ``leaveAhead()`` follows.
  package func dropDependencies() { readiness.step { $0.dropped() } }

  /// Has the operation started ahead of others and without a slot, because it won't do anything: it
  /// was cancelled, or its dependencies were dropped.
  package func leaveAhead() { scheduler?.leavesAhead(self) }

  /// Offers a parked operation again, at its old turn; nothing happens to one that isn't parked.
  ///
  /// - Parameter afterReview: Whether ``reviewIsDue()`` is called first.
  package func reoffer(afterReview: Bool) {
    scheduler?.reoffered(self, afterReview: afterReview)
  }

  /// Answers ``reviewIsDue()``.
  package func reviewed(leavesAhead: Bool) {
    scheduler?.reviewed(self, leavesAhead: leavesAhead)
  }

  /// Takes a slot for a parked operation if its queue has one at this moment, or keeps that of one
  /// which is about to be parked; it will be started without being asked again, once
  /// ``wakeQueue()`` was called.
  ///
  /// Takes only the lock of the queue, so it may be called with a lock of the layer held.
  package func reserveSlot() -> Bool { scheduler?.reserved(self) ?? false }

  /// Whether the queue could start the operation now if nothing else kept it.
  ///
  /// Takes only the lock of the queue, so it may be called with a lock of the layer held.
  package var mayStartNow: Bool { scheduler?.mayStart(self) ?? false }

  /// Has the queue look at what was reserved.
  package func wakeQueue() { scheduler?.wake() }

  /// Gives the slot of an operation that executes back; it stays a member.
  ///
  /// Its worker keeps the slot by itself until its `start()`, or ``turnCameAgain()``, has returned.
  package func beginPause() { scheduler?.pauseBegan(self) }

  /// Has the operation wait for its next turn; once after ``beginPause()``.
  ///
  /// Nothing happens to one that has ended.
  package func endPause() { scheduler?.pauseEnded(self) }

  /// Takes the operation out of the line for its next turn, because it ends instead.
  ///
  /// It may have its turn nonetheless, if it has a slot for that already.
  package func abandonTurn() { scheduler?.turnAbandoned(self) }

  /// Keeps slot and membership beyond the end.
  package func holdQuiet() { scheduler?.quietHold(self, isHeld: true) }

  /// Lets go of slot and membership, at the end or at once if that has come.
  package func releaseQuiet() { scheduler?.quietHold(self, isHeld: false) }

  /// Sets the cancelled flag and the reason, and drops the remaining dependencies.
  ///
  /// The queue is told by ``leaveAhead()``.
  package func flagCancelled(reason: (any Error)?) { _ = flagAsCancelled(reason: reason) }

  /// Whether a queue called `start()`, and not code of the program.
  package var wasStartedByQueue: Bool { life.current.phase == .started }

  /// Whether the operation has not been given to a queue or started.
  package var isUnclaimed: Bool { life.current.phase == .created }

  /// Whether nothing was left to wait for at some moment.
  package var wasReady: Bool { readiness.current.wasReady }

  /// Begins a run by hand; traps where the program may not start the operation.
  ///
  /// - Returns: Whether there is anything to run.
  package func beginByHand() -> Bool {
    switch life.step({ $0.startedByHand() }) {
    case .begin: true
    case .ignore: false
    case .reject(let mistake): trap(mistake.sentence(about: self))
    }
  }

  /// Whether all dependencies have finished or don't matter any more.
  package var dependenciesAreFinished: Bool { readiness.current.dependenciesAreFinished }

  /// The number of dependencies that have not finished; 0 if they don't matter any more.
  package var openDependencyCount: Int {
    let readiness = readiness.current
    return readiness.isDropped ? 0 : Int(readiness.unfinished)  // 32 bits: no more than objects
  }

  /// Reports the end: `isFinished` turns true, dependents are released, waiters wake.
  ///
  /// - Parameter holdsQuiet: Whether ``holdQuiet()`` comes with it.
  package func reportFinished(holdsQuiet: Bool = false) {
    if life.step({ $0.finishReported() }) == .finish { finish(holdsQuiet: holdsQuiet) }
  }

  /// Adds operations that this one waits for to its queue, behind no more barriers than itself.
  ///
  /// They take no slots.
  ///
  /// - Returns: Whether it is in a queue.
  package func addToQueue(_ helpers: [Operation]) -> Bool {
    guard let queue else { return false }
    queue.addOperations(helpers, besides: self)
    return true
  }

  /// Runs a part of the work on the executor of the operation's queue, as a worker would.
  ///
  /// - Returns: Whether the operation is in a queue.
  package func runInQueue(_ body: @escaping @Sendable () -> Void) -> Bool {
    guard let scheduler, let queue else { return false }
    scheduler.executor.enqueue {
      ThreadOccupant.with(queue: queue, operation: self) { _ in body() }
    }
    return true
  }

  /// The queue that the operation is in.
  package var queue: OperationQueue? { containingQueue }
}
