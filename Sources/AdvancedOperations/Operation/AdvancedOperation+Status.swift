import CoreOperations

extension AdvancedOperation {
  /// The state of the operation.
  public final var state: State {
    let state = withCore { $0.machine.state }
    // Without conditions, the end of the last dependency doesn't change the state in the machine, so this
    // property checks it.
    return state == .pending && wasReady ? .ready : state
  }

  /// Whether the operation has started, so that its work may have had effects.
  ///
  /// Observers are notified of the start, and then ``execute()`` or the body is called. The start is decided
  /// in one step, and a later cancel arrives in the body. The body is skipped only if an observer of the
  /// start calls `finish()` or `skip(reason:)`.
  ///
  /// The value is false if the operation ended without executing. Either it was cancelled before, a condition
  /// wasn't satisfied, a dependency whose value it needed failed, or its value came from its journal.
  ///
  /// ```swift
  /// operation.onFinish { operation, _ in
  ///   if !operation.hasStarted { print("\(operation) was left out") }
  /// }
  /// ```
  public final var hasStarted: Bool { withCore { $0.machine.hasStarted } }

  /// The errors so far, in order, from cancels, conditions, the body and children.
  public final var errors: [any Error] { withCore { $0.errors } }

  /// The outcome of the operation; nil until it is decided, and unchanged from then on.
  ///
  /// The outcome of a group that won't execute is nil until its children have left.
  public final var outcome: OperationOutcome? { withCore { $0.machine.outcome } }

  /// The environment of the operation: the environment of its queue, or the default environment.
  ///
  /// Set the environment of an operation that you start manually. An ``AdvancedOperationQueue`` replaces the
  /// environment with its own when the operation is added. Setting the environment of an operation that was
  /// added to a queue or started does nothing.
  public final var environment: OperationEnvironment {
    get { withCore { $0.environment } ?? OperationEnvironment.default }
    set {
      let old = withCore { core -> OperationEnvironment? in
        guard core.machine.state == .pending, !core.machine.isSubmitted else { return nil }
        defer { core.environment = newValue }
        return core.environment
      }
      withExtendedLifetime(old) {}
      checkDomainOfClaims()
    }
  }

  /// Sets the environment of an operation that has none, and hasn't been enqueued or started.
  package final func useIfUnset(_ environment: OperationEnvironment) {
    withCore { core in
      guard core.environment == nil, core.machine.state == .pending, !core.machine.isSubmitted
      else {
        return
      }
      core.environment = environment
    }
  }

  /// The innermost group that the operation is in; nil if it isn't in a group.
  ///
  /// A child of a group is in the group, and so are operations that the child produces. Each attempt of a
  /// ``RetryOperation`` and each round of a ``RepeatOperation`` that is a child is in the group, too. An
  /// operation of a scope (`withOperations`) isn't in a group: keep a reference to the group of the operation
  /// that opens the scope. The operation doesn't retain the group.
  ///
  /// ```swift
  /// let search = ResultOperation(name: "search") {
  ///   if try await archive.hasImage() { AdvancedOperation.current?.group?.cancel() }
  /// }
  /// ```
  public final var group: GroupOperation? {
    var next = parent
    while let operation = next {
      if let group = operation as? GroupOperation { return group }
      next = operation.parent
    }
    return nil
  }

  /// The operation that runs this operation as a part of itself; nil for an operation that runs
  /// independently.
  ///
  /// The parent is a group, a ``RetryOperation`` for its attempts, a ``RepeatOperation`` for its rounds, or a
  /// recovery for its fallback. To count only the operations that were added to a queue, and not their parts,
  /// count the operations without a parent. The operation doesn't retain its parent.
  public final var parent: AdvancedOperation? { withCore { $0.extra?.group } }

  /// The number of the current attempt, or of the last attempt; 1 for the first.
  ///
  /// The number counts the attempts that the operation's own ``RetryPolicy`` makes. For a ``RetryOperation``,
  /// the number counts the operations that are its attempts. The number is 1 for an operation without a
  /// policy.
  ///
  /// ```swift
  /// let download = ResultOperation(name: "download", retry: .immediate.attempts(3)) {
  ///   let attempt = AdvancedOperation.current?.attempt ?? 1
  ///   return try await servers[attempt % 2].download()
  /// }
  /// ```
  public final var attempt: Int { withCore { $0.extra?.attempt ?? 1 } }
}

extension Operation {
  /// The state of a plain operation, as far as its properties indicate it.
  final var stateOfPlain: AdvancedOperation.State {
    if isFinished { return .finished }
    if isExecuting { return .executing }
    return isReady ? .ready : .pending
  }
}
