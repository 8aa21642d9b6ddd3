import CoreOperations

extension AdvancedOperation {
  /// Where the operation is in its life.
  public final var state: State {
    let state = withCore { $0.machine.state }
    // Without conditions, the last dependency's end changes no state: it is seen here.
    return state == .pending && wasReady ? .ready : state
  }

  /// Whether the operation has started, so that there may be effects.
  ///
  /// Observers are notified of the start, and then ``execute()``, or the body, is called. It is
  /// decided in one step, and a cancel that comes later arrives in the body. Only an observer of
  /// the start that calls `finish()` or `skip(reason:)` keeps the body from being called.
  ///
  /// False for an operation that ended without executing: it was cancelled before, a condition
  /// wasn't satisfied, a dependency whose value it needed failed, or its value came from its
  /// journal.
  ///
  /// ```swift
  /// operation.onFinish { operation, _ in
  ///   if !operation.hasStarted { print("\(operation) was left out") }
  /// }
  /// ```
  public final var hasStarted: Bool { withCore { $0.machine.hasStarted } }

  /// What went wrong so far, in order: reasons of cancels, conditions, the body, children.
  public final var errors: [any Error] { withCore { $0.errors } }

  /// How the operation ended; nil until that is decided, and fixed from then on.
  ///
  /// That of a group that won't execute is nil until its children have left.
  public final var outcome: OperationOutcome? { withCore { $0.machine.outcome } }

  /// What the operation's world provides: that of its queue, or the default one.
  ///
  /// Set it for an operation that is started manually. An ``AdvancedOperationQueue`` replaces it by
  /// its own when the operation is added. An operation that was added to a queue or started keeps
  /// the environment that it has, and setting it does nothing.
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

  /// Sets the environment of an operation that has none, and is neither enqueued nor started.
  package final func useIfUnset(_ environment: OperationEnvironment) {
    withCore { core in
      guard core.environment == nil, core.machine.state == .pending, !core.machine.isSubmitted
      else {
        return
      }
      core.environment = environment
    }
  }

  /// The innermost group that the operation is in; nil when it is in none.
  ///
  /// A child of a group is in it, and so is what the child produces, and each attempt of a
  /// ``RetryOperation`` or round of a ``RepeatOperation`` that is a child. An operation of a scope
  /// (`withOperations`) is in no group: keep the group of the operation that opens the scope. The
  /// operation doesn't keep the group alive.
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

  /// What runs the operation as a part of itself; nil for one that stands by itself.
  ///
  /// That is a group, a ``RetryOperation`` whose attempt it is, a ``RepeatOperation`` whose round
  /// it is, or a recovery whose fallback it is. An observer of a queue that counts what was added
  /// there, and not the parts of that, looks at those without a parent. The operation doesn't keep
  /// its parent alive.
  public final var parent: AdvancedOperation? { withCore { $0.extra?.group } }

  /// The number of the attempt that is going on, or was the last; 1 for the first.
  ///
  /// Counts the attempts of the operation's own ``RetryPolicy``, and those of a ``RetryOperation``;
  /// 1 for an operation without a policy.
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
  /// The state of a plain operation, as far as its properties say.
  final var stateOfPlain: AdvancedOperation.State {
    if isFinished { return .finished }
    if isExecuting { return .executing }
    return isReady ? .ready : .pending
  }
}
