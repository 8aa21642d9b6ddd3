import CoreOperations

extension AdvancedOperation {
  /// Ends the operation without an error.
  ///
  /// Call this method when the work is done.
  ///
  /// A ``ResultOperation`` ends by itself when its body returns. If you finish a result operation that should
  /// have a value and has no value yet, it fails.
  ///
  /// The call is ignored if the end was decided before, or if the operation was cancelled before it executed.
  /// The method may return before observers are notified.
  ///
  /// - Precondition: The operation is executing, finished, or cancelled.
  public final func finish() { finish(withErrors: []) }

  /// Ends the operation with an error, or without an error; see ``finish()``.
  ///
  /// ```swift
  /// override func execute() {
  ///   connection.send(message) { error in self.finish(withError: error) }
  /// }
  /// ```
  ///
  /// - Parameter error: The error to append to ``errors``; nil for no error. An ``OperationSkipped`` isn't an
  ///   error: it ends the operation as ``skip(reason:)`` does.
  public final func finish(withError error: (any Error)?) {
    finish(withErrors: error.map { [$0] } ?? [])
  }

  /// Ends the operation with errors; see ``finish()``.
  ///
  /// - Parameter errors: The errors to append to ``errors``, in order. An ``OperationSkipped`` among them
  ///   isn't an error. If there are no other errors, it ends the operation as ``skip(reason:)`` does.
  public final func finish(withErrors errors: [any Error]) {
    if errors.isEmpty, withCore({ $0.lacksValue }) {
      guard let value = valueOfVoid else { return finish(withErrors: [FinishedWithoutValue()]) }
      restore(value)
    }
    finish(withElements: errors.map { OperationFailure.Element(origin: .body, error: $0) })
  }

  /// Ends the operation as skipped, because there was no work to do.
  ///
  /// ```swift
  /// override func execute() {
  ///   guard cache.isOutdated else { return skip(reason: "the cache is up to date") }
  ///   refresh()
  ///   finish()
  /// }
  /// ```
  ///
  /// The ``outcome`` is ``OperationOutcome/skipped(reason:)``, as after a condition that skips. A skip isn't
  /// an error. Operations that need the value of this operation are skipped as well, and other dependents
  /// run. If the operation was cancelled before, its outcome stays cancelled. An async body throws
  /// ``OperationSkipped`` instead of calling this method. Like ``finish()``, this call is ignored if the end
  /// was decided before, and may return before observers are notified.
  ///
  /// - Parameter reason: The reason why there was no work to do, as text for people.
  /// - Precondition: The operation is executing, finished, or cancelled.
  public final func skip(reason: String) {
    let skipped = OperationFailure.Element(
      origin: .body,
      error: OperationSkipped(reason: reason)
    )
    finish(withElements: [skipped], calling: "skip(reason:)")
  }

  // MARK: Deciding

  /// Decides the outcome, unless it is decided already.
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
  /// The check and the decision are one step, because a cancel may come between them otherwise.
  ///
  /// - Parameter alongside: A closure that is called in the same step if the operation succeeds, under the
  ///   operation's lock.
  /// - Returns: Whether the operation succeeds.
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

  /// Records that a body has ended: either `execute()` on a call stack, or a task.
  final func bodyEnded() {
    var isIdle = false
    let belongings = withCore { core -> Belongings? in
      isIdle = core.machine.bodyEnded()
      return isIdle ? core.takeBelongings() : nil
    }
    if isIdle { becomeIdle(belongings) }
  }

  /// Releases the claims, the place in the queue, and all objects that were attached or that the work needed.
  ///
  /// The operation has finished, and no body is running. The objects aren't released earlier, because an
  /// object of the program may wait for the end in its `deinit`.
  final func becomeIdle(_ belongings: consuming Belongings?) {
    if let belongings = consume belongings {
      let domain = belongings.domain
      let (isHeld, afterIdle) = (belongings.isHeldUntilIdle, belongings.afterIdle)
      if domain != nil || !afterIdle.isEmpty, let tracer = belongings.tracer {
        // A simulation may delay the release, because on threads dependents may start before it. The slot
        // would be kept until this method returns to the worker anyway.
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

  /// Runs a closure when the operation is idle, or immediately if it is idle already.
  ///
  /// - Parameter body: A closure that receives the operation, which has left its queue by then.
  package final func afterIdle(_ body: @escaping @Sendable (AdvancedOperation) -> Void) {
    let isIdle = withCore { core in
      if core.machine.isIdle { return true }
      core.makeExtra().afterIdle.append(body)
      return false
    }
    if isIdle { body(self) }
  }
}
