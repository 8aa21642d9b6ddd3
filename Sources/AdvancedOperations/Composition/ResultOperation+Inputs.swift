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
    work.withLock { work in
      work.changeRare { rare in
        rare.predecessors = predecessors
        rare.recovers = recovering
      }
    }
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
  ///   mirror.addCondition(MutuallyExclusive("mirror"))
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
