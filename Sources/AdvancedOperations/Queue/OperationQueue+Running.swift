public import CoreOperations

extension OperationQueue {
  /// Runs an operation and all operations that it depends on, and returns its value.
  ///
  /// The method adds the operation to the queue, together with each predecessor that isn't in a queue yet,
  /// and awaits the value. A predecessor that is already in a queue stays there. If a predecessor is a child
  /// of a group that isn't in a queue, the group is added.
  ///
  /// ```swift
  /// let download = ResultOperation(name: "download") { try await feed.download() }
  /// let parse = download.then(name: "parse") { data in try Feed(data).events }
  /// let store = parse.then(name: "store") { events in try await archive.save(events) }
  /// let saved = try await queue.run(store)
  /// ```
  ///
  /// Several tasks may run workflows that share operations, or the same operation. The first call adds a
  /// shared operation, and all calls wait for it.
  ///
  /// If the waiting task is cancelled, for example because a client has disconnected, the call throws
  /// immediately. An operation that a call of this method added is cancelled when no call waits for it any
  /// more and no condition needs it. The reason is a `CancellationError`. Dependents of the operation, and
  /// tasks that await its ``ResultOperation/value``, don't prevent this cancel. A later call throws the
  /// failure of the cancelled operation, so create a new operation for it. An operation that the program has
  /// added to a queue itself is never cancelled. Bodies that are running end when they check for
  /// cancellation. If they must not outlive the call, use `withOperations`.
  ///
  /// If the deadline passes first, the call throws immediately, and an operation that it has added is
  /// cancelled under the same conditions. If the deadline has passed before the call, these operations never
  /// execute. In the body of an operation with a deadline, the earlier deadline applies.
  ///
  /// - Parameters:
  ///   - operation: An operation in this queue, in another queue, or in no queue.
  ///   - deadline: The time on the clock of this queue until which the call waits; nil to wait without a
  ///     limit. See ``AdvancedOperation/deadline``.
  /// - Returns: The value of the operation.
  /// - Throws: The ``OperationFailure`` of the operation if it failed, was cancelled, or was skipped. An
  ///   ``OperationFailure`` with an ``OperationTimeout`` if the deadline passes first.
  ///   `CancellationError` if the waiting task is cancelled first. `OperationCycleError` if the waiting task
  ///   is the body of an operation that this operation waits for; the operations are then cancelled as if the
  ///   task were cancelled.
  /// - Complexity: O(v + e), v the number of unfinished predecessors and e the number of their dependencies.
  @discardableResult
  public final func run<Output: Sendable>(
    _ operation: ResultOperation<Output>,
    deadline: Duration? = nil
  ) async throws -> Output {
    try await runUntilFinished(operation, deadline: deadline)
    return try operation.finishedValue()
  }

  // This method is disfavored, because the compiler prefers a method that isn't generic, and would choose it
  // even for a `ResultOperation` that is created in the argument.

  /// Runs an operation without a value and all operations that it depends on, until it has finished.
  ///
  /// This method runs an operation in the same way as the method for a ``ResultOperation``:
  ///
  /// ```swift
  /// try await queue.run(sync)
  /// ```
  ///
  /// - Parameters:
  ///   - operation: An operation, such as a group, in this queue, in another queue, or in no queue.
  ///   - deadline: The time on the clock of this queue until which the call waits; nil to wait without a
  ///     limit. See ``AdvancedOperation/deadline``.
  /// - Throws: The ``OperationFailure`` of the operation if it failed or was cancelled; no error if it was
  ///   skipped. An ``OperationFailure`` with an ``OperationTimeout`` if the deadline passes first.
  ///   `CancellationError` if the waiting task is cancelled first. `OperationCycleError` if the
  ///   waiting task is the body of an operation that this operation waits for.
  /// - Complexity: O(v + e), v the number of unfinished predecessors and e the number of their dependencies.
  @_disfavoredOverload
  public final func run(_ operation: AdvancedOperation, deadline: Duration? = nil) async throws {
    try await runUntilFinished(operation, deadline: deadline)
    switch operation.outcome {
    case .succeeded, .skipped, nil: return
    case .failed(let failure), .cancelled(let failure): throw failure.given(by: operation)
    }
  }

  private func runUntilFinished(_ operation: AdvancedOperation, deadline: Duration?) async throws {
    let current = AdvancedOperation.current
    let caller = current?.deadline == nil ? nil : current
    let call = RunCall(of: operation, until: deadline, in: caller)
    defer { _ = call.leave() }
    let wait = AsyncWait()
    let limit = deadline.map { CallLimit($0, on: environmentOfOperations.clock) }
    if let limit, let failure = limit.passed, !operation.isFinished {
      cancel(call.leave(), reason: limit.timeout)
      add(call.added)
      throw failure
    }
    let timer = limit?.start { timeout in
      self.cancel(call.leave(), reason: timeout)
      wait.end(with: timeout.failure)
    }
    defer { timer?.cancel() }
    do {
      try await withTaskCancellationHandler {
        // Operations that were cancelled before they are added leave without executing.
        add(call.added)
        try await operation.untilFinished(wait)
      } onCancel: {
        uninterrupted { self.cancel(call.leave(), reason: CancellationError()) }
      }
    } catch let cycle as OperationCycleError {
      cancel(call.leave(), reason: cycle)
      throw cycle
    }
  }
}

/// The deadline of a call that runs operations.
struct CallLimit {
  private let deadline: Duration
  private let clock: OperationClock
  let timeout: OperationTimeout

  init(_ deadline: Duration, on clock: OperationClock) {
    (self.deadline, self.clock) = (deadline, clock)
    let duration = deadline.saturatingSubtracting(clock.now)
    timeout = OperationTimeout(duration: duration, kind: .deadline)
  }

  /// The failure of a call whose deadline has passed before; nil otherwise.
  var passed: OperationFailure? {
    timeout.duration <= .zero ? timeout.failure : nil
  }

  /// Calls a closure at the deadline.
  func start(_ stop: @escaping @Sendable (OperationTimeout) -> Void) -> OperationTimer {
    clock.schedule(at: deadline) { [timeout] in stop(timeout) }
  }
}

extension OperationQueue {
  /// The environment of operations that are added to this queue.
  private var environmentOfOperations: OperationEnvironment {
    (self as? AdvancedOperationQueue)?.environment ?? .default
  }

  /// Adds some operations in one batch, if there are any.
  final func add(_ operations: [Operation]) {
    if operations.count == 1 {
      addOperation(operations[0])
    } else if !operations.isEmpty {
      addOperations(operations)
    }
  }
}

/// The need of a call for an operation and its predecessors, which are cancelled when no call and no
/// condition needs them.
final class RunCall: Sendable {
  /// The operations that this call has to add, predecessors first.
  let added: [Operation]
  /// The operations that this call needed when it began, predecessors first.
  let all: [Operation]
  private let isWaiting = Locked(true)

  /// - Parameters:
  ///   - operation: The operation that the call runs.
  ///   - deadline: The deadline of the operations that this call adds.
  ///   - caller: The operation whose body calls, if it has a deadline.
  init(
    of operation: Operation,
    until deadline: Duration? = nil,
    in caller: AdvancedOperation? = nil
  ) {
    let unfinished = Workflow.operations(endingWith: operation)
    // The needs are added before the first claim, so that another call that stops waiting sees them.
    for operation in unfinished { operation.addNeed(of: .run) }
    added = unfinished.filter { operation in
      let isClaimed = operation.claim()
      if isClaimed { operation.addedForNeeds() }
      if let operation = operation as? AdvancedOperation {
        if !isClaimed {
          operation.joinedByCall()
        } else if deadline != nil || caller != nil {
          operation.added(byCallUntil: deadline, of: caller)
        }
      }
      return isClaimed
    }
    all = unfinished
  }

  /// Stops waiting; does nothing the second time.
  ///
  /// - Returns: The operations that were added for calls and conditions, and that no call or condition needs
  ///   any more.
  func leave() -> [Operation] {
    isWaiting.withLock { exchange(&$0, with: false) }
      ? all.filter { $0.removeNeed(of: .run) } : []
  }

  /// Waits again; returns false if the operation was given up in the meantime, and is cancelled.
  func waitAgain() -> Bool {
    // The operation itself is the last one, and decides.
    if all.last?.addNeed(of: .run) == false { return false }
    for operation in all.dropLast() { operation.addNeed(of: .run) }
    isWaiting.withLock { $0 = true }
    return true
  }
}

/// A search for the operations that have to finish before an operation can finish.
struct Workflow {
  private var found: [Operation] = []
  private var visited: Set<ObjectIdentifier> = []

  /// Returns an operation and its predecessors that have not finished, predecessors first.
  static func operations(endingWith operation: Operation) -> [Operation] {
    var workflow = Workflow()
    workflow.visit(operation)
    return workflow.found
  }

  /// Claims an operation and its predecessors that aren't in a queue.
  ///
  /// - Returns: The operations that the caller has to add, predecessors first.
  static func claim(endingWith operation: Operation) -> [Operation] {
    // A call in another task may have claimed some of the operations before.
    operations(endingWith: operation).filter { $0.claim() }
  }

  /// Visits an operation and its predecessors, without recursion because chains may be long.
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
      // The group of a child adds the child, and the child runners end when their children do.
      if let group = operation.waitingGroup { needed.append(group) }
      needed += operation.childRunner?.openChildren ?? []
    }
    path.append((operation, needed[...]))
  }
}
