/// What a queue does with an operation whose turn came.
package enum StartDecision: Sendable {
  /// Start it.
  case run
  /// Don't; it will be offered again, and keeps its turn.
  case park
  /// Start it, but without a slot: it won't do anything.
  case skip
}

/// What a layer above says when its operation is handed to a queue.
package struct AdmissionTerms: Sendable {
  /// Whether to hold its readiness.
  let isHeld: Bool
  /// Whether ``LayeredOperation/didEnqueue()`` has anything to do; if not, it isn't called.
  let needsDidEnqueue: Bool
  /// Whether ``LayeredOperation/decideStart(hasWaited:)`` may say no; if not, it isn't called.
  let isAskedAtStart: Bool
  /// Whether it may say no to an operation that has waited since its hold was released.
  let isAskedAfterWait: Bool

  package init(
    isHeld: Bool,
    needsDidEnqueue: Bool,
    isAskedAtStart: Bool,
    isAskedAfterWait: Bool = false
  ) {
    self.isHeld = isHeld
    self.needsDidEnqueue = needsDidEnqueue
    self.isAskedAtStart = isAskedAtStart
    self.isAskedAfterWait = isAskedAfterWait
  }
}

/// An operation of a layer above, as the core knows it.
///
/// The requirements are what the core asks of such an operation, and what the layer may do to its
/// own stands in `LayeredOperation+Steering`. All hooks are called without a lock held. What else
/// the layer uses of the core stands in the other files of this folder, and `.ci/door` checks that
/// nothing stands elsewhere.
///
/// - *Readiness hold*: one more thing to wait for, next to the dependencies. Taken in
///   ``willEnqueue()``; when nothing but the hold is left, a worker without a slot calls
///   ``dependenciesDidFinish()``; given back with ``releaseReadinessHold(leavesAhead:hasWaited:)``.
/// - *Start gate*: ``decideStart(hasWaited:)``, called by a worker that has a slot for the
///   operation, if it may say no.
/// - *Quiet hold*: ``holdQuiet()`` and ``releaseQuiet()``: finished, with slot and membership kept.
///   A worker that called `start()` keeps both by itself until the call returned.
/// - *Pause* of an operation that executes: ``beginPause()`` gives its slot back, ``endPause()``
///   has it wait for a turn like that of one that starts, with ``decideStart(hasWaited:)`` or
///   ``reserveSlot()``, and ``turnCameAgain()`` says that it has come.
/// - *Re-offer* of a parked operation: ``reoffer(afterReview:)``, or ``reserveSlot()`` for one
///   step.
/// - *Release of the remaining dependencies*: ``flagCancelled(reason:)``.
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
  func dependenciesDidFinish()
  /// A worker has a slot for the operation, to start it or to let it go on after a pause.
  ///
  /// - Parameter hasWaited: Whether the operation has waited since its hold was released: for a
  ///   slot, a resumed queue, or a dependency that was added. False where the layer hasn't asked to
  ///   know.
  /// - Returns: What to do.
  func decideStart(hasWaited: Bool) -> StartDecision
  /// The operation starts because of ``reserveSlot()``; called by the worker that starts it, with
  /// its slot.
  func grantedStartBegins()
  /// A dependency was added after ``reserveSlot()``: the operation doesn't start now, and will be
  /// asked for ``decideStart(hasWaited:)`` anew.
  func returnGrant()
  /// The operation has a slot after a pause, as ``decideStart(hasWaited:)`` said or
  /// ``reserveSlot()`` has given it; it may have ended meanwhile, and then keeps the slot until it
  /// is quiet.
  func turnCameAgain()
  /// The operation was parked and will be offered again. Called by a worker without a slot; answer
  /// with ``reviewed(leavesAhead:)``.
  func reviewIsDue()
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
  var isQuiet: Bool { get }
  /// Whether the operation was started in no queue, and still waits for what it needs before its
  /// work.
  var isStartingByHand: Bool { get }
  /// What the operation waits for besides dependencies, its queue, and what its own code waits for;
  /// nothing of what it doesn't wait for at this moment, such as children that have ended.
  func layerWaits(_ part: Wait.Part) -> [Wait]
}
