import CoreOperations

extension AdvancedOperation {
  /// Ends the operation without an error; call it when the work is done.
  ///
  /// A ``ResultOperation`` ends by itself, when its body returns: one that is to have a value, and
  /// has none yet, fails.
  ///
  /// Ignored when the end was decided before, and after a cancel that came before executing. May
  /// return before observers were notified.
  ///
  /// - Precondition: Executing, finished, or cancelled.
  public final func finish() { finish(withErrors: []) }

  /// Ends the operation with an error, or without one; see ``finish()``.
  ///
  /// ```swift
  /// override func execute() {
  ///   connection.send(message) { error in self.finish(withError: error) }
  /// }
  /// ```
  ///
  /// - Parameter error: Appended to ``errors``; nil for none. An ``OperationSkipped`` is no error:
  ///   it ends the operation as ``skip(reason:)`` does.
  public final func finish(withError error: (any Error)?) {
    finish(withErrors: error.map { [$0] } ?? [])
  }

  /// Ends the operation with errors; see ``finish()``.
  ///
  /// - Parameter errors: Appended to ``errors``, in order. An ``OperationSkipped`` among them is no
  ///   error: without others, it ends the operation as ``skip(reason:)`` does.
  public final func finish(withErrors errors: [any Error]) {
    if errors.isEmpty, withCore({ $0.lacksValue }) {
      guard let value = valueOfVoid else { return finish(withErrors: [FinishedWithoutValue()]) }
      restore(value)
    }
    finish(withElements: errors.map { OperationFailure.Element(origin: .body, error: $0) })
  }

  /// Ends the operation as skipped: there was nothing to do.
  ///
  /// ```swift
  /// override func execute() {
  ///   guard cache.isOutdated else { return skip(reason: "the cache is up to date") }
  ///   refresh()
  ///   finish()
  /// }
  /// ```
  ///
  /// The ``outcome`` is ``OperationOutcome/skipped(reason:)``, as after a condition that skips: no
  /// error, operations that need the value of this one are skipped as well, and others go on. When
  /// the operation was cancelled before, it is cancelled. An async body throws ``OperationSkipped``
  /// instead. Like ``finish()``, this is ignored when the end was decided before, and may return
  /// before observers were notified.
  ///
  /// - Parameter reason: Why there was nothing to do, for people.
  /// - Precondition: Executing, finished, or cancelled.
  public final func skip(reason: String) {
    let skipped = OperationFailure.Element(
      origin: .body,
      error: OperationSkipped(reason: reason)
    )
    finish(withElements: [skipped], calling: "skip(reason:)")
  }

  // MARK: Deciding

  /// Decides the outcome, unless it is decided.
  final func finish(
    withElements elements: [OperationFailure.Element],
    calling call: String = "finish()"
  ) {
    let action = changeAndDeliver { core in
      let action = core.machine.decide(elements)
      if action == .decided { core.appendEnd() }
      return action
    }
    switch action {
    case .decided, .ignore: return
    case .reject(let mistake): trap(mistake.sentence(about: self, calling: call))
    }
  }

  /// Decides the outcome as a success, unless it would be a failure or a cancellation.
  ///
  /// One step, because a cancel may come between a look at the flag and the decision.
  ///
  /// - Parameter alongside: Called in the same step if so, under the operation's lock.
  /// - Returns: Whether it did.
  final func decideSuccess(_ alongside: () -> Void) -> Bool {
    changeAndDeliver { core in
      guard !core.machine.isCancelled, core.machine.elements.isEmpty,
        core.machine.decide([]) == .decided
      else { return false }
      alongside()
      core.appendEnd()
      return true
    }
  }

  // MARK: Becoming idle

  /// A body has ended: `execute()` on a stack, or a task.
  final func bodyEnded() {
    var isIdle = false
    let belongings = withCore { core -> Belongings? in
      isIdle = core.machine.bodyEnded()
      return isIdle ? core.takeBelongings() : nil
    }
    if isIdle { becomeIdle(belongings) }
  }

  /// Finished, and no body is left: releases the claims, the place in the queue, and all that was
  /// attached or that the work needed.
  ///
  /// Not before: an object of the program that is released may wait for the end in its `deinit`.
  final func becomeIdle(_ belongings: consuming Belongings?) {
    if let belongings = consume belongings {
      let domain = belongings.domain
      let (isHeld, afterIdle) = (belongings.isHeldUntilIdle, belongings.afterIdle)
      if domain != nil || !afterIdle.isEmpty, let tracer = belongings.tracer {
        // A simulation may have that done later: on threads, dependents may start before it is
        // done. Until this returned to the worker, the slot would have been kept anyway.
        if !isHeld { holdUntilIdle() }
        tracer.operationBecomesIdle(self) { self.release(domain, isHeld: true, afterIdle) }
      } else {
        release(domain, isHeld: isHeld, afterIdle)
      }
      belongings.attached?.removeObservers()
    }
    releaseResources()
    childRunner?.ownerIsIdle()
  }

  private func release(
    _ domain: ClaimDomain?,
    isHeld: Bool,
    _ afterIdle: [@Sendable (AdvancedOperation) -> Void]
  ) {
    domain?.release(self)
    if isHeld { releaseIdleHold() }
    if !afterIdle.isEmpty { follow { for body in afterIdle { body(self) } } }
  }

  /// Runs a closure when the operation is idle, or immediately if it is.
  ///
  /// - Parameter body: Gets the operation, which has left its queue by then.
  package final func afterIdle(_ body: @escaping @Sendable (AdvancedOperation) -> Void) {
    let isIdle = withCore { core in
      if core.machine.isIdle { return true }
      core.makeExtra().afterIdle.append(body)
      return false
    }
    if isIdle { body(self) }
  }
}
