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
  /// Several tasks may run workflows that share operations, or the same operation: the first call
  /// adds a shared operation, and all of them wait for it.
  ///
  /// If the waiting task is cancelled, because a client has hung up for example, the call throws
  /// immediately. An operation that was added by a call of this method is cancelled when no such
  /// call waits for it any more and no condition needs it, with a `CancellationError` as the reason.
  /// Dependents and tasks that await ``ResultOperation/value`` don't keep it. A later call finds it
  /// cancelled, and throws its failure: create a new operation then. An operation that the program has added to a queue itself
  /// is never cancelled. Bodies that are running end when they notice the cancel; where they must
  /// not outlive the call, use `withOperations`.
  ///
  /// - Parameter operation: In this queue, in another one, or in none.
  /// - Returns: The value of the operation.
  /// - Throws: The ``OperationFailure`` of the operation when it failed, was cancelled, or was
  ///   skipped; `CancellationError` when the waiting task is cancelled first; `OperationCycleError`
  ///   when the waiting task is the body of an operation that this one waits for, and then the
  ///   operations are cancelled as if the task were.
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
    let call = RunCall(of: operation)
    defer { _ = call.leave() }
    do {
      try await withTaskCancellationHandler {
        // Those that were cancelled before they are added leave without executing.
        add(call.added)
        try await operation.untilFinished()
      } onCancel: {
        uninterrupted { self.cancel(call.leave(), reason: CancellationError()) }
      }
    } catch let cycle as OperationCycleError {
      cancel(call.leave(), reason: cycle)
      throw cycle
    }
  }
}

extension OperationQueue {
  /// Adds some operations in one batch, if there are any.
  final func add(_ operations: [Operation]) {
    if operations.count == 1 {
      addOperation(operations[0])
    } else if !operations.isEmpty {
      addOperations(operations)
    }
  }
}

/// A need of an operation and its predecessors, which are cancelled when no call and no condition needs them.
final class RunCall: Sendable {
  /// The operations that this call has to add; predecessors come first.
  let added: [Operation]
  /// The operations that this call needs; none once it has left.
  private let needed: Locked<[Operation]>

  init(of operation: Operation) {
    let unfinished = Workflow.operations(endingWith: operation)
    // Before the first is claimed: another call that leaves finds the need of this one.
    for operation in unfinished { operation.addNeed(of: .run) }
    added = unfinished.filter { operation in
      let isClaimed = operation.claim()
      if isClaimed { operation.addedForNeeds() }
      return isClaimed
    }
    needed = Locked(unfinished)
  }

  /// Waits no more; does nothing the second time.
  ///
  /// - Returns: The operations that were added for calls and conditions, none of which needs them
  ///   any more.
  func leave() -> [Operation] {
    let needed = needed.withLock { exchange(&$0, with: []) }
    return needed.filter { $0.removeNeed(of: .run) }
  }
}

/// The search for the operations that have to finish so that one of them can run.
struct Workflow {
  private var found: [Operation] = []
  private var visited: Set<ObjectIdentifier> = []

  /// An operation and its predecessors, as far as they have not finished; predecessors come first.
  static func operations(endingWith operation: Operation) -> [Operation] {
    var workflow = Workflow()
    workflow.visit(operation)
    return workflow.found
  }

  /// Claims an operation and its predecessors, as far as they are in no queue.
  ///
  /// - Returns: What the caller has to add; predecessors come first.
  static func claim(endingWith operation: Operation) -> [Operation] {
    // A call in another task may have claimed some before.
    operations(endingWith: operation).filter { $0.claim() }
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
