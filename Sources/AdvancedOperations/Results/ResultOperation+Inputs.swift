import CoreOperations

extension ResultOperation {
  /// Creates an operation whose body gets the values of an array of operations.
  ///
  /// The new operation depends on the others. If one of them fails or is cancelled, the new operation fails
  /// with this failure as an inherited error. It fails without executing, and without waiting for the others.
  /// If one of them was skipped and none has failed, the new operation is skipped when all of them have
  /// finished.
  ///
  /// If the array is empty, the body gets an empty array.
  ///
  /// ```swift
  /// let pages = servers.map { server in ResultOperation { try await server.download() } }
  /// let book = ResultOperation(name: "book", afterAll: pages) { pages in
  ///   pages.joined(separator: "\n")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the operation.
  ///   - inputs: The operations whose values the body gets. The value of an operation that occurs twice is
  ///     passed twice.
  ///   - retry: The policy that decides whether and when the body is run again after it threw; nil for never.
  ///   - body: The work, which gets the values in the order of the inputs.
  public convenience init<Input: Sendable>(
    name: String? = nil,
    afterAll inputs: [ResultOperation<Input>],
    retry: RetryPolicy? = nil,
    body: @escaping @Sendable ([Input]) async throws -> Output
  ) {
    self.init(name: name, retry: retry) {
      try await body(inputs.map { try $0.valueForSuccessor() })
    }
    var known: Set<ObjectIdentifier> = []
    receive(from: inputs.filter { known.insert(ObjectIdentifier($0)).inserted })
  }

  /// Makes the operation depend on the operations whose values it gets.
  ///
  /// Called once, during initialization.
  final func receive(from predecessors: [AdvancedOperation], recovering: Bool = false) {
    // The lock is needed, because a subclass that overrides the designated initializer may already have
    // passed the operation to other threads.
    withWork { $0.receive(from: predecessors, recovering: recovering) }
    for predecessor in predecessors { addDependency(predecessor) }
  }

  // MARK: Recovering

  /// Creates an operation with this operation's value, or with another value if this operation fails.
  ///
  /// The new operation depends on this operation, and isn't in a queue yet.
  ///
  /// - If this operation succeeds, the new operation has the same value, and the closure isn't called.
  /// - If this operation fails or is cancelled, including by a timeout, the closure gets the failure and
  ///   returns a value. If the closure throws an error, the new operation fails with this error and, as an
  ///   inherited error, with the failure. To pass the failure on, throw the failure itself.
  /// - If this operation is skipped, the new operation is skipped as well.
  ///
  /// A group or `withOperations` ignores the failure after a successful recovery, if the new operation is a
  /// child of the same group or in the same scope. The group then succeeds. With
  /// ``GroupOperation/ErrorPolicy/failFast``, the group waits for the recovery before it fails.
  ///
  /// ```swift
  /// let feed = download.recover(name: "cached") { failure in cache.feed }
  /// let parse = feed.then(name: "parse") { data in try Feed(data) }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the new operation.
  ///   - body: A closure that gets the failure and returns a value. It runs in a task, as the body of the new
  ///     operation.
  /// - Returns: The new operation.
  public final func recover(
    name: String? = nil,
    body: @escaping @Sendable (_ failure: OperationFailure) async throws -> Output
  ) -> ResultOperation<Output> {
    RecoveryOperation(name, of: self) { failure, _ in try await body(failure) }
  }

  /// Creates an operation with this operation's value, or with the value of another operation if this
  /// operation fails.
  ///
  /// Works like ``recover(name:body:)``, but the fallback is an operation, which has its own conditions,
  /// claims and observers. The fallback runs as a part of the new operation and takes no slot. During the
  /// fallback, the new operation keeps its slot and its claims.
  ///
  /// If the fallback fails, the new operation fails with its errors, each with the origin
  /// ``OperationFailure/Origin/child(_:_:)``. If the fallback is skipped, the new operation is skipped. If
  /// the new operation is cancelled, the fallback is cancelled too.
  ///
  /// - Important: If the value is `Void`, the compiler takes a closure of one expression for the closure of
  ///   ``recover(name:body:)``. It warns that the result of the closure is unused, and the fallback never
  ///   runs. Write `recover(name: …, make: { … })`, or a `return`.
  ///
  /// ```swift
  /// let feed = download.recover(name: "feed") { failure in
  ///   let mirror = ResultOperation(name: "mirror") { try await server.download() }
  ///   mirror.addClaim(MutuallyExclusive("mirror"))
  ///   return mirror
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the new operation.
  ///   - make: A closure that gets the failure and returns a new operation, which isn't in a queue. It is
  ///     called in a task, while no lock is held.
  /// - Returns: The new operation.
  @_disfavoredOverload
  public final func recover(
    name: String? = nil,
    make: @escaping @Sendable (_ failure: OperationFailure) async throws -> ResultOperation<Output>
  ) -> ResultOperation<Output> {
    RecoveryOperation(name, of: self) { failure, operation in
      let made = MadeOperation(giving: try await make(failure))
      return try await operation.run(made)
    }
  }
}

// The properties of result operations, for code that doesn't know the type of the value.
extension AdvancedOperation {
  /// Whether the operation needs the values of other operations.
  final var hasInputs: Bool { withCore { $0.work?.extra?.predecessors.isEmpty == false } }

  /// The operations whose values this operation needs; empty for an operation that recovers.
  final var inputs: [AdvancedOperation] {
    guard let extra = withCore({ $0.work?.extra }), !extra.recovers else { return [] }
    return extra.predecessors
  }

  /// The failures of ``inputs`` that have finished; nil if none has failed.
  final func failuresOfInputs() -> [OperationFailure.Element]? {
    let elements = inputs.compactMap { input in
      input.outcome?.failure.map { OperationFailure.Element.inherited($0, from: input) }
    }
    return elements.isEmpty ? nil : elements
  }

  /// The verdict that follows from the outcomes of the predecessors, before conditions are evaluated; nil
  /// without predecessors.
  final func verdictOfInputs() -> OperationStateMachine.Verdict? {
    guard let extra = withCore({ $0.work?.extra }) else { return nil }
    var elements: [OperationFailure.Element] = []
    var reason: String?
    for predecessor in extra.predecessors {
      switch predecessor.outcome {
      case .succeeded: continue
      case .skipped(let why): reason = reason ?? why
      case .failed(let failure), .cancelled(let failure):
        if extra.recovers { continue }
        elements.append(.inherited(failure, from: predecessor))
      case nil: elements.append(.inherited(RemovedDependency(), from: predecessor))
      }
    }
    return OperationStateMachine.Verdict(failures: elements, skipReason: reason)
  }

  /// The current wait between two attempts or rounds; nil if there is none.
  final var pause: OperationPause? { withCore { $0.work?.pause } }

  /// The time at which the async body began; nil before that, and without an async body.
  final var bodyBegin: Duration? { withCore { $0.work?.begin } }

  /// The place of the operation's value in a journal; nil without a journal.
  final var journalEntry: JournalEntry? { withCore { $0.work?.extra?.journal } }

  /// The value from the body or the journal; nil if there is no value yet.
  final var output: (any Sendable)? { withCore { $0.work?.output } }

  /// Takes the value from the journal, unless the end of the operation is decided.
  final func restore(_ value: any Sendable) {
    withCore { if !$0.machine.isEndDecided { $0.work?.output = value } }
  }

  /// Replaces the task that was captured for the body.
  ///
  /// - Returns: The old task, which the caller has to run or discard. If the body won't run, the new task is
  ///   returned.
  final func exchangeCaptured(_ new: CapturedTask?) -> CapturedTask? {
    withCore { core in
      guard let work = core.work, !work.isReleased else { return new }
      defer { work.captured = new }
      return work.captured
    }
  }

  /// Ends a pause, because no attempt will follow, and records a recovery.
  ///
  /// Called when the outcome is decided, before the end is delivered.
  final func outcomeTakesEffect() {
    let (pausing, recovered) = withCore { core in
      let recovery = core.work?.extra.flatMap { $0.recovers ? $0 : nil }
      let isSuccess = core.machine.outcome?.isSuccess == true
      return (
        core.work?.pause == nil ? nil : core.work?.task,
        isSuccess ? recovery?.predecessors ?? [] : []
      )
    }
    pausing?.cancel()
    for operation in recovered { operation.withCore { $0.makeExtra().isRecovered = true } }
  }
}

/// An operation with the value of another operation, or with the value that a closure returns for its
/// failure.
final class RecoveryOperation<Output: Sendable>: ResultOperation<Output>, @unchecked Sendable {
  // Sendable: all stored properties are immutable.
  private let own = OperationRounds()

  init(
    _ name: String?,
    of operation: ResultOperation<Output>,
    _ recover:
      @escaping @Sendable (OperationFailure, RecoveryOperation<Output>) async throws -> Output
  ) {
    super.init(name: name) {
      guard let result = operation.result else { throw RemovedDependency() }
      switch result {
      case .success(let output): return output
      case .failure(let failure):
        do { return try await recover(failure, .running()) } catch {
          if let error = error as? OperationSkipped { throw error }
          throw Self.failure(operation, failure, error)
        }
      }
    }
    run(childrenBy: own)
    receive(from: [operation], recovering: true)
    operation.withCore { $0.makeExtra().recovery = self }
  }

  /// The failure of the operation, and the errors of the recovery.
  private static func failure(
    _ operation: Operation,
    _ failure: OperationFailure,
    _ error: any Error
  ) -> BodyFailure {
    let inherited = OperationFailure.Element.inherited(failure, from: operation)
    // Only the failure itself isn't added again. Another failure comes from an operation that the closure
    // awaited.
    if let thrown = error as? OperationFailure, thrown.isSame(as: failure) {
      return BodyFailure(elements: [inherited])
    }
    let own = (error as? BodyFailure)?.elements ?? [.init(origin: .body, error: error)]
    return BodyFailure(elements: [inherited] + own)
  }

  /// Runs a fallback, and waits until it and all operations that it has produced are idle.
  final func run(_ made: MadeOperation<Output>) async throws -> Output {
    if own.isOver { throw BodyFailure(elements: []) }
    let failures = await own.run(made.operation, of: self).all
    guard failures.isEmpty, !isCancelled else {
      throw BodyFailure(elements: failures.inChild(made.operation))
    }
    return try made.value()
  }
}

extension AdvancedOperation {
  /// Whether another operation has succeeded in recovering from a failure of this one.
  final var isRecovered: Bool { withCore { $0.extra?.isRecovered == true } }

  /// Whether another operation may still recover from a failure of this one.
  final var awaitsRecovery: Bool {
    guard let recovery = withCore({ $0.extra?.recovery }) else { return false }
    // A recovery that succeeds sets `isRecovered` before it has finished.
    return recovery.withCore { $0.machine.state < .finished }
  }

  /// Whether an operation of the same group is going to recover from a failure of this one.
  final func awaitsRecovery(in group: GroupOperation) -> Bool {
    guard let recovery = withCore({ $0.extra?.recovery }) else { return false }
    return recovery.withCore { $0.machine.state < .finishing ? $0.extra?.group : nil } === group
  }
}
