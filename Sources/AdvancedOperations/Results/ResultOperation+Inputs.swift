import CoreOperations

extension ResultOperation {
  /// Creates an operation that gets the values of any number of others.
  ///
  /// It depends on them. When one of them has failed or was cancelled, this one fails with that as
  /// an inherited error: without executing, and without waiting for the others. When one was skipped
  /// and none has failed, this one is skipped once all have ended. Without others the body gets an
  /// empty array.
  ///
  /// ```swift
  /// let pages = servers.map { server in ResultOperation { try await server.download() } }
  /// let book = ResultOperation(name: "book", afterAll: pages) { pages in
  ///   pages.joined(separator: "\n")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: What the operation is called.
  ///   - inputs: Give the values; one that stands there twice gives its value twice.
  ///   - retry: Whether and when the body is run again after it threw; nil for never.
  ///   - body: Gets the values in the order of the inputs.
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

  /// Makes the operation depend on those that give it values; once, while initialising.
  final func receive(from predecessors: [AdvancedOperation], recovering: Bool = false) {
    // With the lock: a subclass that overrides the designated initialiser may have let others know
    // of the operation.
    withWork { $0.receive(from: predecessors, recovering: recovering) }
    for predecessor in predecessors { addDependency(predecessor) }
  }

  // MARK: Recovering

  /// Makes an operation that gives this one's value, or another one when this one fails.
  ///
  /// The new operation depends on this one, and is in no queue yet.
  ///
  /// - When this one succeeds, the new one gives its value, and the closure isn't called.
  /// - When this one fails or is cancelled, a timeout included, the closure gets the failure and
  ///   returns a value. When it throws, the new operation fails with that error and, as an
  ///   inherited one, the failure; throw the failure itself to pass it on.
  /// - When this one is skipped, so is the new one.
  ///
  /// In a group or in `withOperations`, a failure that was recovered from doesn't count if the new
  /// operation is a child of the same group, or in the same scope: the group succeeds, and with
  /// ``GroupOperation/ErrorPolicy/failFast`` it waits for the recovery.
  ///
  /// ```swift
  /// let feed = download.recover(name: "cached") { failure in cache.feed }
  /// let parse = feed.then(name: "parse") { data in try Feed(data) }
  /// ```
  ///
  /// - Parameters:
  ///   - name: What the new operation is called.
  ///   - body: Gets the failure; runs in a task as the body of the new operation.
  /// - Returns: The new operation.
  public final func recover(
    name: String? = nil,
    body: @escaping @Sendable (_ failure: OperationFailure) async throws -> Output
  ) -> ResultOperation<Output> {
    RecoveryOperation(name, of: self) { failure, _ in try await body(failure) }
  }

  /// Makes an operation that gives this one's value, or that of another operation when this one
  /// fails.
  ///
  /// As ``recover(name:body:)``, but with a fallback that is an operation: with conditions, claims
  /// and observers of its own. It runs as a part of the new operation, which keeps its own slot and
  /// claims meanwhile; the fallback takes no slot. When it fails, the new operation fails with its
  /// errors, each with the origin ``OperationFailure/Origin/child(_:_:)``. When it is skipped, so
  /// is the new operation. A cancel of the new operation cancels it.
  ///
  /// - Important: Where there is no value (`Void`), a closure of one expression is taken for that
  ///   of ``recover(name:body:)``, with a warning that its result is unused, and the fallback never
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
  ///   - name: What the new operation is called.
  ///   - make: Gets the failure; returns a new operation, in no queue yet. Called in a task,
  ///     without a lock held.
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

// What a result operation has besides conditions and claims, for code that doesn't know its value.
extension AdvancedOperation {
  /// Whether the operation needs the values of others.
  final var hasInputs: Bool { withCore { $0.work?.extra?.predecessors.isEmpty == false } }

  /// The operations without whose values this one fails; empty for one that recovers.
  final var inputs: [AdvancedOperation] {
    guard let extra = withCore({ $0.work?.extra }), !extra.recovers else { return [] }
    return extra.predecessors
  }

  /// The failures of ``inputs`` that have ended; nil if none has failed.
  final func failuresOfInputs() -> [OperationFailure.Element]? {
    let elements = inputs.compactMap { input in
      input.outcome?.failure.map { OperationFailure.Element.inherited($0, from: input) }
    }
    return elements.isEmpty ? nil : elements
  }

  /// The verdict of the results of predecessors, before any condition is evaluated; nil without
  /// predecessors.
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

  /// The wait that the body is in between two attempts or rounds.
  final var pause: OperationPause? { withCore { $0.work?.pause } }

  /// The beginning of the async body; nil before, and without one.
  final var bodyBegin: Duration? { withCore { $0.work?.begin } }

  /// The place of its value in a journal; nil without one.
  final var journalEntry: JournalEntry? { withCore { $0.work?.extra?.journal } }

  /// The value that its body or its journal has given; nil without one.
  final var output: (any Sendable)? { withCore { $0.work?.output } }

  /// The journal has the value: takes it, unless the end is decided.
  final func restore(_ value: any Sendable) {
    withCore { if !$0.machine.isEndDecided { $0.work?.output = value } }
  }

  /// Puts another task in the place of the one that was captured for the body.
  ///
  /// - Returns: The old one, to be run or discarded; the new one if no body is going to run it.
  final func exchangeCaptured(_ new: CapturedTask?) -> CapturedTask? {
    withCore { core in
      guard let work = core.work, !work.isReleased else { return new }
      defer { work.captured = new }
      return work.captured
    }
  }

  /// The outcome is decided, and nothing that waits for the end knows: ends a pause, because there
  /// is no attempt to wait for, and notes a recovery.
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

/// Gives the value of another operation, or what a closure makes of its failure.
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

  /// The failure that was to be recovered from, and what went wrong with that.
  private static func failure(
    _ operation: Operation,
    _ failure: OperationFailure,
    _ error: any Error
  ) -> BodyFailure {
    let inherited = OperationFailure.Element.inherited(failure, from: operation)
    // Other failures are those of what the closure awaited.
    if let thrown = error as? OperationFailure, thrown.isSame(as: failure) {
      return BodyFailure(elements: [inherited])
    }
    let own = (error as? BodyFailure)?.elements ?? [.init(origin: .body, error: error)]
    return BodyFailure(elements: [inherited] + own)
  }

  /// Runs a fallback, and waits until all of it is quiet.
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
    // Before it has finished it is known whether it has.
    return recovery.withCore { $0.machine.state < .finished }
  }

  /// Whether an operation of the same group is going to recover from a failure of this one.
  final func awaitsRecovery(in group: GroupOperation) -> Bool {
    guard let recovery = withCore({ $0.extra?.recovery }) else { return false }
    return recovery.withCore { $0.machine.state < .finishing ? $0.extra?.group : nil } === group
  }
}
