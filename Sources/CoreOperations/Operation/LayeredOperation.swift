/// What a queue does with an operation whose turn came.
package enum StartDecision: Sendable {
  /// Start it, even if it won't execute.
  case run
  /// Don't; it will be offered again, and keeps its turn.
  case park
}

/// What a layer above says when its operation is handed to a queue.
package struct AdmissionTerms: Sendable {
  /// Whether to hold its readiness.
  let isHeld: Bool
  /// Whether ``LayeredOperation/didEnqueue()`` has anything to do; if not, it isn't called.
  let needsDidEnqueue: Bool
  /// Whether ``LayeredOperation/decideStart()`` has anything to do; if not, it isn't called.
  let isAskedAtStart: Bool

  package init(isHeld: Bool, needsDidEnqueue: Bool, isAskedAtStart: Bool) {
    self.isHeld = isHeld
    self.needsDidEnqueue = needsDidEnqueue
    self.isAskedAtStart = isAskedAtStart
  }
}

/// What a layer above says when all dependencies of its operation have finished.
package enum LayerReadiness: Sendable {
  /// ``LayeredOperation/releaseReadinessHold(leavesAhead:)`` follows, or the operation is
  /// cancelled.
  case pending
  /// The hold is given back.
  case released(leavesAhead: Bool)
}

/// An operation of a layer above, as the core knows it.
///
/// The requirements are what the core asks of such an operation; the extensions below are what the
/// layer may do to its own operations. All hooks are called without a lock held.
///
/// - *Readiness hold*: one more thing to wait for, next to the dependencies. Taken in
///   ``willEnqueue(in:)``; when nothing but the hold is left, a worker without a slot calls
///   ``dependenciesDidFinish()``; given back with its result, or with
///   ``releaseReadinessHold(leavesAhead:)``.
/// - *Start gate*: ``decideStart()``, called by a worker that has a slot for the
///   operation, if it may say no.
/// - *Idle hold*: ``holdUntilIdle()`` and ``releaseIdleHold()``: finished, with slot and membership
///   kept. A worker that called `start()` keeps both by itself until the call returned.
/// - *Pause* of an operation that executes: ``beginPause()`` gives its slot back, ``endPause()``
///   has it wait for a turn like that of one that starts, with ``decideStart()`` or
///   ``reserveSlot()``, and ``turnCameAgain()`` says that it has come.
/// - *Re-offer* of a parked operation: ``reoffer()``, or ``reserveSlot()`` for one step.
/// - *Release of the remaining dependencies*: ``flagCancelled()``.
/// - *Its place*: ``addToQueue(_:)`` and ``runInQueue(_:)``.
package protocol LayeredOperation: Operation {
  /// The operation was handed to a queue and is no member yet.
  ///
  /// - Returns: How to let it in.
  func willEnqueue(in queue: OperationQueue) -> AdmissionTerms
  /// The operation is a member, and nothing has happened to it yet; called if it was asked for.
  func didEnqueue()
  /// All dependencies finished and the hold is what is left. Called by a worker without a slot,
  /// once.
  ///
  /// - Returns: Whether it may start, if that is known.
  func dependenciesDidFinish() -> LayerReadiness
  /// A worker has a slot for the operation, to start it or to let it go on after a pause.
  ///
  /// - Returns: What to do.
  func decideStart() -> StartDecision
  /// The operation starts because of ``reserveSlot()``; called by the worker that starts it, with
  /// its slot.
  func grantedStartBegins()
  /// A dependency was added after ``reserveSlot()``: the operation doesn't start now, and will be
  /// asked for ``decideStart()`` again.
  func returnGrant()
  /// The operation has a slot after a pause, as ``decideStart()`` said or
  /// ``reserveSlot()`` has given it; it may have ended meanwhile, and then keeps the slot until it
  /// is quiet.
  func turnCameAgain()
  /// Cancels the operation, and keeps what observers are told until ``deliverEvents()``, which
  /// follows.
  func cancelSilently(reason: (any Error)?)
  /// Waits that include one of this operation's complete a cycle, beginning and ending with the
  /// same: opens it if the layer has a better way than to let the last one leave.
  ///
  /// - Returns: Whether it did, or others have.
  func breakCycle(_ cycle: [Operation]) -> Bool
  /// The operation waits in a cycle, and has to be cancelled with this as the reason.
  func cancelAsMember(of cycle: OperationCycleError)
  /// The reason of the cancel that set the flag; nil without one.
  var reasonOfCancel: (any Error)? { get }
  /// Tells observers what is due.
  func deliverEvents()
  /// Releases what the program has attached to the operation, because nothing will run it any more.
  func releaseAsAbandoned()
  /// Whose start the operation waits for, besides its dependencies; nil when that has come.
  var awaitedParent: Operation? { get }
  /// Whether others wait for the operation that aren't its dependents, because of what
  /// ``Wait/Part/connections`` are.
  var isAwaitedInLayer: Bool { get }
  /// Whether the operation has finished, and none of its code runs any more.
  var isIdle: Bool { get }
  /// What the operation waits for besides dependencies, its queue, and what its own code waits for;
  /// nothing of what it doesn't wait for at this moment, such as children that have ended.
  func layerWaits(_ part: Wait.Part) -> [Wait]
}

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

  /// The queue that the operation is in, unless that is hidden from the program.
  package final var containingQueue: OperationQueue? {
    scheduler?.owner.flatMap { $0.isHidden ? nil : $0 }
  }
}

extension LayeredOperation {
  /// Makes the core call the hooks; once, while initialising.
  package func attachLayer() {
    layer = self
    isLayered = true
  }

  /// The operation waits for a parent or a prerequisite from now on: looks whether that completes a
  /// cycle.
  package func noteWait(for other: Operation) { noteEdge(to: other) }

  /// Gives the hold back, if ``dependenciesDidFinish()`` hasn't.
  ///
  /// - Parameter leavesAhead: Whether the operation is started ahead of others and without a slot,
  ///   because it won't do anything. Its dependencies still hold.
  package func releaseReadinessHold(leavesAhead: Bool) {
    if let scheduler {
      scheduler.holdReleased(self, leavesAhead: leavesAhead)
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
  package func reoffer() { scheduler?.reoffered(self) }

  /// Takes a slot for a parked operation if its queue has one at this moment, or keeps that of one
  /// which is about to be parked; it will be started without being asked again, once
  /// ``wakeQueue()`` was called.
  package func reserveSlot() -> Bool { scheduler?.reserved(self) ?? false }

  /// Whether the queue could start the operation now if nothing else kept it.
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
  package func holdUntilIdle() { scheduler?.idleHold(self, isHeld: true) }

  /// Lets go of slot and membership, at the end or at once if that has come.
  package func releaseIdleHold() { scheduler?.idleHold(self, isHeld: false) }

  /// Sets the cancelled flag, and drops the remaining dependencies; ``reasonOfCancel`` has the
  /// reason.
  ///
  /// The queue is told by ``leaveAhead()``.
  package func flagCancelled() { _ = flagAsCancelled(reason: nil) }

  /// Whether dependents and waiters were released, or are about to be.
  package var isClosed: Bool { life.current.phase == .finished }

  /// Whether a queue called `start()`, and not code of the program.
  package var wasStartedByQueue: Bool { life.current.phase == .started }

  /// Whether the operation has not been given to a queue or started.
  package var isUnclaimed: Bool { life.current.phase == .created }

  /// Whether nothing was left to wait for at some moment.
  package var wasReady: Bool { readiness.current.wasReady }

  /// Begins a run on the caller's thread; traps where the program may not start the operation.
  ///
  /// - Returns: Whether there is anything to run.
  package func beginManually() -> Bool {
    switch life.step({ $0.startedManually() }) {
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

  /// Finishes and closes the operation: `isFinished` turns true, dependents are released, waiters
  /// wake.
  ///
  /// - Parameter isHeldUntilIdle: Whether ``holdUntilIdle()`` comes with it.
  package func finishAndClose(isHeldUntilIdle: Bool) {
    if life.step({ $0.finished() }) == .close { close(isHeldUntilIdle: isHeldUntilIdle) }
  }

  /// Adds operations that this one waits for to its queue, behind no more barriers than itself.
  ///
  /// They take no slots.
  ///
  /// - Returns: Whether it is in a queue.
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

  /// The queue that the operation is in, unless that is hidden from the program.
  package var queue: OperationQueue? { containingQueue }

  /// Whether the operation is in a queue, even if that is hidden from the program.
  package var isInQueue: Bool { scheduler != nil }
}

// Operations that were added to a queue because others need them, and that are cancelled when nothing
// needs them any more.

/// What needs the end of an operation.
package enum OperationNeed: Sendable {
  /// A condition of another operation, before it is evaluated.
  case condition
  /// A call that runs the operation, and waits for it.
  case run
}

extension Operation {
  /// Something needs the end of the operation.
  package final func addNeed(of need: OperationNeed) {
    withLinks { links in
      let extra = links.makeExtra()
      switch need {
      case .condition: extra.conditionNeedCount += 1
      case .run: extra.runNeedCount += 1
      }
    }
  }

  /// The operation is added to a queue because something needs it, and for nothing else.
  package final func addedForNeeds() { withLinks { $0.makeExtra().isOnlyNeeded = true } }

  /// Something that needed the operation doesn't any more.
  ///
  /// - Returns: Whether nothing needs it now, and it was added for needs alone.
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
      return extra.isOnlyNeeded
    }
  }
}
