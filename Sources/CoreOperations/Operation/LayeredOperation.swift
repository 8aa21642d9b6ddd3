/// The answer of a layer when a slot is available for its operation.
package enum StartDecision: Sendable {
  /// Start the operation, even if it won't execute.
  case run
  /// Don't start the operation now. The queue offers the operation again, and it keeps its place.
  case park
}

/// The terms of a layer when its operation is added to a queue.
package struct AdmissionTerms: Sendable {
  /// A Boolean value that indicates whether to hold the readiness of the operation.
  let isHeld: Bool
  /// A Boolean value that indicates whether ``LayeredOperation/didEnqueue()`` has to be called.
  let needsDidEnqueue: Bool
  /// A Boolean value that indicates whether ``LayeredOperation/decideStart()`` has to be called.
  let isAskedAtStart: Bool

  package init(isHeld: Bool, needsDidEnqueue: Bool, isAskedAtStart: Bool) {
    self.isHeld = isHeld
    self.needsDidEnqueue = needsDidEnqueue
    self.isAskedAtStart = isAskedAtStart
  }
}

/// The answer of a layer when all dependencies of its operation have finished.
package enum LayerReadiness: Sendable {
  /// A call of ``LayeredOperation/releaseReadinessHold(leavesAhead:)`` follows, or the operation is
  /// cancelled.
  case pending
  /// The hold is released.
  case released(leavesAhead: Bool)
}

/// An operation of an advanced layer, as the core knows it.
///
/// Through the requirements, the core reads and controls such an operation. Through the extensions below, the
/// layer controls its own operations. All hooks are called while no lock is held.
///
/// - *Readiness hold*: a further condition for readiness, next to the dependencies. ``willEnqueue(in:)``
///   acquires it. When only the hold is left, a worker without a slot calls ``dependenciesDidFinish()``. The
///   hold is released with the result of that call, or with ``releaseReadinessHold(leavesAhead:)``.
/// - *Start gate*: ``decideStart()``, which a worker with a slot for the operation calls, and which may park
///   the operation.
/// - *Idle hold*: ``holdUntilIdle()`` and ``releaseIdleHold()``, with which a finished operation keeps slot
///   and membership. A worker that called `start()` keeps both anyway until the call has returned.
/// - *Pause* of an operation that executes: ``beginPause()`` releases its slot. ``endPause()`` makes it wait
///   for a slot like an operation that starts, with ``decideStart()`` or ``reserveSlot()``.
///   ``turnCameAgain()`` notifies it that it has a slot.
/// - *Re-offer* of a parked operation: ``reoffer()``, or ``reserveSlot()`` for one step.
/// - *Release of the remaining dependencies*: ``flagCancelled()``.
/// - *Place in a queue*: ``addToQueue(_:)`` and ``runInQueue(_:)``.
package protocol LayeredOperation: Operation {
  /// Called when the operation is being added to a queue and isn't a member yet.
  ///
  /// - Returns: The terms of the operation.
  func willEnqueue(in queue: OperationQueue) -> AdmissionTerms
  /// Called when the operation has become a member, before any other event, if the terms request it.
  func didEnqueue()
  /// Called once when all dependencies have finished and only the hold is left, by a worker without a slot.
  ///
  /// - Returns: Whether the operation may start, if that is known.
  func dependenciesDidFinish() -> LayerReadiness
  /// Called when a worker has a slot for the operation, to start it or to resume it after a pause.
  ///
  /// - Returns: The action of the worker.
  func decideStart() -> StartDecision
  /// Called when the operation starts because of ``reserveSlot()``, by the worker that starts it, with its
  /// slot.
  ///
  /// - Returns: The action of the worker. The layer has returned the grant if the operation is parked.
  func grantedStartBegins() -> StartDecision
  /// Called when a dependency was added after ``reserveSlot()``, so that the operation doesn't start now.
  ///
  /// A call of ``decideStart()`` follows later.
  func returnGrant()
  /// Called when the operation has a slot after a pause, because of ``decideStart()`` or ``reserveSlot()``.
  ///
  /// The operation may have ended in the meantime, and then keeps the slot until it is idle.
  func turnCameAgain()
  /// The body waits to take its slot again, or doesn't wait any more.
  func waitsForSlot(_ waits: Bool)
  /// Cancels the operation, and holds its events until ``deliverEvents()`` is called.
  func cancelSilently(reason: (any Error)?)
  /// Breaks a cycle of waits that includes a wait of this operation, if the layer has a better way than
  /// making the last operation leave.
  ///
  /// The first and the last element of the cycle are the same operation.
  ///
  /// - Returns: Whether the cycle was broken, by this call or by other code.
  func breakCycle(_ cycle: [Operation]) -> Bool
  /// Cancels the operation because it waits in a cycle, with the given reason.
  func cancelAsMember(of cycle: OperationCycleError)
  /// The reason of the cancel that set the flag; nil if the cancel had no reason.
  var reasonOfCancel: (any Error)? { get }
  /// Delivers the held events to observers.
  func deliverEvents()
  /// Releases the objects that the program has attached to the operation, because it will never run again.
  func releaseAsAbandoned()
  /// The parent whose start the operation waits for, besides its dependencies; nil once the parent has
  /// started.
  var awaitedParent: Operation? { get }
  /// A Boolean value that indicates whether other operations than its dependents wait for the operation,
  /// because of ``Wait/Part/connections``.
  var isAwaitedInLayer: Bool { get }
  /// A Boolean value that indicates whether the operation has finished, and none of its code is running.
  var isIdle: Bool { get }
  /// Returns the waits of the operation other than those for dependencies, for its queue, and of its own
  /// code.
  ///
  /// The result has only current waits, for example none for children that have ended.
  func layerWaits(_ part: Wait.Part) -> [Wait]
}

// The following extensions are for layers, and ``LayeredOperation`` describes when a layer uses them.

extension Operation {
  /// Claims the right to add the operation to a queue.
  ///
  /// - Returns: Whether the caller has to add it; false if the operation is in a queue, was started, or was
  ///   claimed before.
  package final func claim() -> Bool {
    withLinks { links in
      if links.isClaimed || life.current.phase != .created { return false }
      links.isClaimed = true
      return true
    }
  }

  /// The queue that the operation is in, unless the queue is hidden from the program.
  package final var containingQueue: OperationQueue? {
    scheduler?.owner.flatMap { $0.isHidden ? nil : $0 }
  }
}

extension LayeredOperation {
  /// Makes the core call the hooks.
  ///
  /// Call this once, during initialization.
  package func attachLayer() {
    layer = self
    isLayered = true
  }

  /// Checks for a cycle, because the operation waits for a parent or a prerequisite from now on.
  package func noteWait(for other: Operation) { noteEdge(to: other) }

  /// Releases the hold, if ``dependenciesDidFinish()`` hasn't.
  ///
  /// - Parameter leavesAhead: A Boolean value that indicates whether the operation is started ahead of others
  ///   and without a slot, because it won't execute. The operation still waits for its dependencies.
  package func releaseReadinessHold(leavesAhead: Bool) {
    if let scheduler {
      scheduler.holdReleased(self, leavesAhead: leavesAhead)
    } else {
      _ = readiness.step { $0.holdReleased() }
    }
  }

  /// Stops waiting for the remaining dependencies.
  ///
  /// A call of ``leaveAhead()`` follows.
  package func dropDependencies() { readiness.step { $0.dropped() } }

  /// Starts the operation ahead of others and without a slot, because it won't execute.
  ///
  /// The operation was cancelled, or its dependencies were dropped.
  package func leaveAhead() { scheduler?.leavesAhead(self) }

  /// Offers a parked operation again, at its old place; does nothing for an operation that isn't parked.
  package func reoffer() { scheduler?.reoffered(self) }

  /// Reserves a slot for a parked operation if its queue has a free slot, or keeps the slot of an operation
  /// that is about to be parked.
  ///
  /// After ``wakeQueue()`` was called, the operation is started without a further call of ``decideStart()``.
  package func reserveSlot() -> Bool { scheduler?.reserved(self) ?? false }

  /// A Boolean value that indicates whether the queue could start the operation now if no other cause delayed
  /// it.
  package var mayStartNow: Bool { scheduler?.mayStart(self) ?? false }

  /// Makes the queue check its reserved slots.
  package func wakeQueue() { scheduler?.wake() }

  /// Releases the slot of an executing operation, which stays a member.
  ///
  /// Its worker keeps the slot until its `start()`, or ``turnCameAgain()``, has returned.
  package func beginPause() { scheduler?.pauseBegan(self) }

  /// Makes the operation wait for its next slot.
  ///
  /// Call this once after ``beginPause()``.
  ///
  /// The method does nothing for an operation that has ended.
  package func endPause() { scheduler?.pauseEnded(self) }

  /// Removes the operation from the waiters for a slot, because it ends instead.
  ///
  /// The operation may still resume, if it already has a slot for that.
  package func abandonTurn() { scheduler?.turnAbandoned(self) }

  /// The operation was cancelled while it executes: if its body waits to take its slot again, the
  /// body continues without one.
  package func cancelReachesBody() { scheduler?.cancelledWhileExecuting(self) }

  /// Keeps slot and membership after the end.
  package func holdUntilIdle() { scheduler?.idleHold(self, isHeld: true) }

  /// Releases slot and membership, either at the end or immediately if the operation has ended.
  package func releaseIdleHold() { scheduler?.idleHold(self, isHeld: false) }

  /// Sets the cancelled flag, and drops the remaining dependencies; ``reasonOfCancel`` has the reason.
  ///
  /// ``leaveAhead()`` notifies the queue.
  package func flagCancelled() { _ = flagAsCancelled(reason: nil) }

  /// A Boolean value that indicates whether dependents and waiters were released, or are about to be
  /// released.
  package var isClosed: Bool { life.current.phase == .finished }

  /// A Boolean value that indicates whether a queue, and not the program, called `start()`.
  package var wasStartedByQueue: Bool { life.current.phase == .started }

  /// A Boolean value that indicates whether the operation has not been added to a queue or started.
  package var isUnclaimed: Bool { life.current.phase == .created }

  /// A Boolean value that indicates whether the operation was ready at some moment.
  package var wasReady: Bool { readiness.current.wasReady }

  /// Begins a run on the caller's thread; traps if the program may not start the operation.
  ///
  /// - Returns: Whether the operation has to run.
  package func beginManually() -> Bool {
    switch life.step({ $0.startedManually() }) {
    case .begin: true
    case .ignore: false
    case .reject(let mistake): trap(mistake.sentence(about: self))
    }
  }

  /// A Boolean value that indicates whether all dependencies have finished or are ignored.
  package var dependenciesAreFinished: Bool { readiness.current.dependenciesAreFinished }

  /// The number of dependencies that have not finished; 0 if they are ignored.
  package var openDependencyCount: Int {
    let readiness = readiness.current
    return readiness.isDropped ? 0 : Int(readiness.unfinished)  // 32 bits: no more than objects
  }

  /// Finishes and closes the operation: `isFinished` becomes true, dependents are released, and waiters wake.
  ///
  /// - Parameter isHeldUntilIdle: A Boolean value that indicates whether the call also acquires the hold of
  ///   ``holdUntilIdle()``.
  package func finishAndClose(isHeldUntilIdle: Bool) {
    if life.step({ $0.finished() }) == .close { close(isHeldUntilIdle: isHeldUntilIdle) }
  }

  /// Adds prerequisites of this operation to its queue, behind no more barriers than the operation itself.
  ///
  /// The prerequisites take no slots.
  ///
  /// - Returns: Whether the operation is in a queue.
  package func addToQueue(_ prerequisites: [Operation]) -> Bool {
    guard let queue else { return false }
    queue.addOperations(prerequisites, besides: self)
    return true
  }

  /// Runs a part of the work on the executor of the operation's queue, as a worker would.
  ///
  /// - Returns: Whether the operation is in a queue.
  package func runInQueue(_ body: @escaping @Sendable () -> Void) -> Bool {
    guard let scheduler, let queue else { return false }
    scheduler.executor.enqueue {
      ThreadContext.with(queue: queue, operation: self) { _ in body() }
    }
    return true
  }

  /// The queue that the operation is in, unless the queue is hidden from the program.
  package var queue: OperationQueue? { containingQueue }

  /// A Boolean value that indicates whether the operation is in a queue, even a queue that is hidden from the
  /// program.
  package var isInQueue: Bool { scheduler != nil }
}

// The following code is for operations that were added to a queue because other code needs them, and that are
// cancelled when no code needs them any more.

/// The kind of code that needs the end of an operation.
package enum OperationNeed: Sendable {
  /// A condition of another operation, before it is evaluated.
  case condition
  /// A call that runs the operation, and waits for it.
  case run
}

extension Operation {
  /// Records that a condition or a call needs the end of the operation.
  ///
  /// - Returns: False if nothing needed the operation before, and it is being cancelled for that reason.
  @discardableResult
  package final func addNeed(of need: OperationNeed) -> Bool {
    withLinks { links in
      let extra = links.makeExtra()
      switch need {
      case .condition: extra.conditionNeedCount += 1
      case .run: extra.runNeedCount += 1
      }
      return !extra.isGivenUp
    }
  }

  /// A Boolean value that indicates whether several calls run the operation.
  package final var isNeededBySeveralCalls: Bool {
    withLinks { $0.extra.map { $0.runNeedCount > 1 } ?? false }
  }

  /// Records that the operation is added to a queue only because of such needs.
  package final func addedForNeeds() { withLinks { $0.makeExtra().isOnlyNeeded = true } }

  /// Records that a condition or a call doesn't need the operation any more.
  ///
  /// - Returns: Whether no condition or call needs the operation now, and it was added only because of needs.
  package final func removeNeed(of need: OperationNeed) -> Bool {
    withLinks { links in
      guard let extra = links.extra else { return false }
      switch need {
      case .condition: extra.conditionNeedCount -= 1
      case .run: extra.runNeedCount -= 1
      }
      if extra.runNeedCount > 0 { return false }
      // A call may have added an operation that is a prerequisite as well.
      if extra.conditionNeedCount > 0 { return false }
      if extra.isOnlyNeeded { extra.isGivenUp = true }
      return extra.isOnlyNeeded
    }
  }
}
