public import CoreOperations

extension OperationQueue {
  /// Runs an operation, with all that it depends on, and gives its value.
  ///
  /// Adds the operation to the queue together with each of its predecessors that is in no queue
  /// yet, and awaits the value. A predecessor that was added to any queue before is left as it is;
  /// for one that is a child of a group in no queue, the group is added.
  ///
  /// ```swift
  /// let download = ResultOperation(name: "download") { try await feed.download() }
  /// let parse = download.then(name: "parse") { data in try Feed(data).events }
  /// let store = parse.then(name: "store") { events in try await archive.save(events) }
  /// let saved = try await queue.run(store)
  /// ```
  ///
  /// When the waiting task is cancelled, because a client has hung up for example, the operations
  /// that were added by this call are cancelled, with a `CancellationError` as the reason, and the
  /// call throws at once. Bodies that are going on end when they notice the cancel; where they must
  /// not outlive the call, use `withOperations`.
  ///
  /// Several tasks may run workflows that share operations: the call that comes first adds a shared
  /// one, and cancels it if its task is cancelled.
  ///
  /// - Parameter operation: In this queue, in another one, or in none.
  /// - Returns: The value of the operation.
  /// - Throws: The ``OperationFailure`` of the operation when it failed, was cancelled, or was
  ///   skipped; `CancellationError` when the waiting task is cancelled first; `OperationCycleError`
  ///   when the waiting task is the body of an operation that this one waits for, and then the
  ///   operations that were added by this call are cancelled.
  /// - Complexity: O(v + e), v the number of unfinished predecessors and e that of their
  ///   dependencies.
  @discardableResult
  public final func run<Output: Sendable>(
    _ operation: ResultOperation<Output>
  ) async throws -> Output {
    try await runUntilFinished(operation)
    return try operation.finishedValue()
  }

  // Disfavored, because the compiler would prefer this method, which isn't generic, for a
  // `ResultOperation` that is made in the argument.

  /// Runs an operation without a value, with all that it depends on, until it has finished.
  ///
  /// Does what the method for a ``ResultOperation`` does:
  ///
  /// ```swift
  /// try await queue.run(sync)
  /// ```
  ///
  /// - Parameter operation: In this queue, in another one, or in none; a group for example.
  /// - Throws: The ``OperationFailure`` of the operation when it failed or was cancelled, and
  ///   nothing when it was skipped; `CancellationError` when the waiting task is cancelled first;
  ///   `OperationCycleError` when the waiting task is the body of an operation that this one waits
  ///   for.
  /// - Complexity: O(v + e), v the number of unfinished predecessors and e that of their
  ///   dependencies.
  @_disfavoredOverload
  public final func run(_ operation: AdvancedOperation) async throws {
    try await runUntilFinished(operation)
    switch operation.outcome {
    case .succeeded, .skipped, nil: return
    case .failed(let failure), .cancelled(let failure): throw failure.given(by: operation)
    }
  }

  private func runUntilFinished(_ operation: AdvancedOperation) async throws {
    let added = Workflow.claim(endingWith: operation)
    do {
      try await withTaskCancellationHandler {
        // Those that were cancelled before they are added leave without executing.
        if added.count == 1 {
          addOperation(added[0])
        } else if !added.isEmpty {
          addOperations(added)
        }
        try await operation.untilFinished()
      } onCancel: {
        uninterrupted { self.cancel(added, reason: CancellationError()) }
      }
    } catch let cycle as OperationCycleError {
      cancel(added, reason: cycle)
      throw cycle
    }
  }
}

/// The search for the operations that have to be added so that one of them can run.
struct Workflow {
  private var found: [Operation] = []
  private var visited: Set<ObjectIdentifier> = []

  /// Claims an operation and its predecessors, as far as they are in no queue; predecessors come
  /// first.
  static func claim(endingWith operation: Operation) -> [Operation] {
    var workflow = Workflow()
    workflow.visit(operation)
    // Only this call adds what it has claimed; a call in another task may have claimed some before.
    return workflow.found.filter { $0.claim() }
  }

  /// Not recursive, because chains may be long.
  private mutating func visit(_ last: Operation) {
    var path: [(operation: Operation, open: ArraySlice<Operation>)] = []
    enter(last, &path)
    while let (operation, open) = path.last {
      if let next = open.first {
        path[path.count - 1].open = open.dropFirst()
        enter(next, &path)
      } else {
        path.removeLast()
        found.append(operation)
      }
    }
  }

  private mutating func enter(
    _ operation: Operation,
    _ path: inout [(operation: Operation, open: ArraySlice<Operation>)]
  ) {
    guard !operation.isFinished, visited.insert(ObjectIdentifier(operation)).inserted else {
      return
    }
    var needed = operation.dependencies
    if let operation = operation as? AdvancedOperation {
      // A child is added by its group, which ends when its children do.
      if let group = operation.waitingGroup { needed.append(group) }
      needed += operation.childRunner?.openChildren ?? []
    }
    path.append((operation, needed[...]))
  }
}
